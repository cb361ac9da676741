// Masks elements by index predicates.
#pragma once

#include "tegula/dsl/create.hpp"
#include "tegula/dsl/math.hpp"

namespace tegula {

namespace detail {

template <class S, int at>
struct OnlyAxis {
  static constexpr Extents extents = [] {
    Extents result = S::list;
    for (int i = 0; i < S::rank; ++i)
      if (i != at) result[i] = 1;
    return result;
  }();
};

}  // namespace detail

/// Replaces by `value` the elements whose global coordinate along an axis is at or beyond `extent`. The tile is number
/// `position` along that axis (counted in tiles, or elem(k)). The same as select(col < extent, x, value) with col =
/// iota + position * tile extent.
template <detail::TileLike A, int along, class Position, class Limit, class V>
constexpr auto mask_outside(A&& a, Axis<along>, Position const& position, Limit const& extent, V const& value,
                            location where = location::current()) {
  using S = detail::shape_t<A>;
  using T = detail::element_t<A>;
  constexpr int at = detail::wrap_axis(along, S::rank);
  constexpr bool used_once = !detail::named_recipe<A>, in_range = at >= 0 || detail::is_invalid<A>;
  constexpr bool indices = detail::IndexLike<Position> && (detail::IntegerScalar<Limit> || detail::Integer<Limit>);
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(in_range, "mask_outside: the tile must have this axis");
  static_assert(indices, "mask_outside: position and extent must be integers or index expressions");
  if constexpr (!used_once || at < 0 || !indices || detail::is_invalid<A>) {
    return detail::Invalid<T, S>();
  } else {
    using Line = detail::shape_from<detail::OnlyAxis<S, at>>;
    auto& recorder = trace::Recorder::current("mask_outside", where);
    trace::Id const first = recorder.first_element(detail::coordinate(position), S::list[at], where);
    scalar<std::int64_t> const offset(recorder.handle(first));
    scalar<std::int64_t> const limit(recorder.handle(recorder.index_value(detail::coordinate(extent), where)));
    return select(iota(Line(), Axis<at>(), where) + offset < limit, static_cast<A&&>(a), value, where);
  }
}

}  // namespace tegula
