// Holds a list of values of different types in plain members, found by position.
#pragma once

#include <utility>

namespace tegula::detail {

template <std::size_t at, class X>
struct PackItem {
  X value;
};
template <class Sequence, class... X>
struct PackItems;
template <std::size_t... at, class... X>
struct PackItems<std::index_sequence<at...>, X...> : PackItem<at, X>... {};
template <class... X>
using Pack = PackItems<std::index_sequence_for<X...>, X...>;

template <std::size_t at, class X>
constexpr X& pack_item(PackItem<at, X>& item) {
  return item.value;
}
template <std::size_t at, class X>
constexpr X const& pack_item(PackItem<at, X> const& item) {
  return item.value;
}

/// Calls f with each value, in order.
template <std::size_t... at, class... X, class F>
constexpr void each_pack_item([[maybe_unused]] PackItems<std::index_sequence<at...>, X...> const& items, F&& f) {
  (f(pack_item<at>(items)), ...);
}

}  // namespace tegula::detail
