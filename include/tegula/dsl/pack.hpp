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

template <std::size_t at, class X>
constexpr X& pack_item(PackItem<at, X>& item) {
  return item.value;
}
template <std::size_t at, class X>
constexpr X const& pack_item(PackItem<at, X> const& item) {
  return item.value;
}

}  // namespace tegula::detail
