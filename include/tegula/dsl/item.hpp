// Makes run-time scalars of elements of tiles.
#pragma once

#include "tegula/dsl/expr.hpp"

namespace tegula {

namespace detail {

/// Records a tile of one element, and returns that as a scalar, which stands for an error if the tile does.
template <class A>
scalar<element_t<A>> only_item(char const* word, A&& tile, location where) {
  if constexpr (is_invalid<A>) {
    return scalar<element_t<A>>(trace::Handle());
  } else {
    auto& recorder = trace::Recorder::current(word, where);
    trace::Id const whole = record_value(recorder, tile, where);
    return scalar<element_t<A>>(
        recorder.handle(recorder.emit(ir::ItemOp{}, {whole}, scalar_type<element_t<A>>, where)));
  }
}

template <class A>
struct ItemElement {
  using type = float;
};
template <TileLike A>
struct ItemElement<A> {
  using type = element_t<A>;
};

}  // namespace detail

/// Returns an element of a tile as a run-time scalar: item(x, i, j) the one at a place, a number for each axis, and
/// item(x) the only one. It serves as an index of a load or store, a bound of a loop, a condition of if_ and while_.
/// Places are integers or index expressions, and count elements. Outside the tile it returns 0, which checks of bounds
/// report. All threads have the same scalar. On a GPU item(x, i, j) takes about as long as sum(x).
template <class A, class... Places>
class item : public scalar<typename detail::ItemElement<A>::type> {
  using T = typename detail::ItemElement<A>::type;
  static constexpr bool of_tile = detail::TileLike<A>;
  static constexpr bool used_once = !detail::named_recipe<A>;
  static constexpr bool integers = ((detail::IntegerScalar<Places> || detail::Integer<Places>)&&...);
  static constexpr bool fits = [] {
    if constexpr (!of_tile || detail::is_invalid<A>)
      return true;
    else if constexpr (sizeof...(Places) == 0)
      return detail::shape_t<A>::elements == 1;
    else
      return detail::shape_t<A>::rank == sizeof...(Places);
  }();
  static_assert(of_tile, "item: the first argument must be a tile");
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(integers, "item: a place must be an integer or an index expression for each axis, and counts elements");
  static_assert(fits,
                "item: the tile of item(x) must have one element; of others name the place by one index for each axis, "
                "item(x, i, j), or reduce them, for instance sum(x)");

 public:
  explicit item(A&& tile, Places const&... places, location where = location::current())
      : scalar<T>(record(tile, places..., where)) {}

 private:
  static trace::Handle record([[maybe_unused]] std::remove_reference_t<A>& tile, Places const&... places,
                              [[maybe_unused]] location where) {
    if constexpr (!of_tile || !used_once || !integers || !fits || detail::is_invalid<A>) {
      return {};
    } else if constexpr (sizeof...(Places) == 0) {
      return detail::only_item<std::remove_reference_t<A>&>("item", tile, where).handle();
    } else {
      auto& recorder = trace::Recorder::current("item", where);
      trace::Id const ids[] = {detail::record_value(recorder, tile, where),
                               detail::index_id(recorder, detail::coordinate(places), where)...};
      return recorder.handle(
          recorder.emit(ir::ItemAtOp{}, {ids, static_cast<int>(sizeof...(Places)) + 1}, detail::scalar_type<T>, where));
    }
  }
};

template <class A, class... Places>
item(A&&, Places const&...) -> item<A, Places...>;

}  // namespace tegula
