// Reduces tiles along an axis, which stays with extent 1.
#pragma once

#include "tegula/dsl/math.hpp"

namespace tegula {

/// Chooses how a reduction associates. Any: one fixed tree per compiled kernel. Pairwise: adjacent pairs first, an odd
/// last one carried up; the same bits on every target.
namespace order {
struct Any {
  static constexpr ir::Order value = ir::Order::any;
};
struct Pairwise {
  static constexpr ir::Order value = ir::Order::pairwise;
};
inline constexpr Any any;
inline constexpr Pairwise pairwise;
}  // namespace order

namespace detail {

template <class S, int at>
struct Reduced {
  static constexpr Extents extents = [] {
    Extents result = S::list;
    result[at] = 1;
    return result;
  }();
};

template <class O>
concept ReductionOrder = std::is_same_v<O, order::Any> || std::is_same_v<O, order::Pairwise>;

template <class A, int along, ir::Combine combine, class O>
constexpr auto reduce(std::remove_reference_t<A>& a, location where) {
  using S = shape_t<A>;
  using T = element_t<A>;
  constexpr int at = wrap_axis(along, S::rank);
  constexpr bool used_once = !named_recipe<A>;
  constexpr bool number = !std::is_same_v<T, bool> || is_invalid<A>;
  constexpr bool wide = !is_narrow<T> || is_invalid<A>;
  constexpr bool in_range = at >= 0 || is_invalid<A>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(number, "a reduction is for numbers, and a bool is not a number: cast the mask first");
  static_assert(wide, TEGULA_NARROW_ELEMENT);
  static_assert(in_range, "a reduction along an axis that the tile does not have");
  if constexpr (!used_once || !number || !wide || at < 0 || is_invalid<A>)
    return Invalid<T, S>();
  else
    return Unary<T, shape_from<Reduced<S, at>>, ir::ReduceOp, stored_t<A>>(
        ir::make_op<ir::ReduceOp>(std::int64_t{at}, combine, O::value), stored(a), where);
}

}  // namespace detail

/// Sums along an axis, which stays with extent 1; f16 and bf16 are summed in f32 and rounded once.
template <detail::TileLike A, int along, detail::ReductionOrder O = order::Any>
constexpr auto sum(A&& a, Axis<along>, O = {}, location where = location::current()) {
  return detail::reduce<A, along, ir::Combine::sum, O>(a, where);
}
/// Gives the maximum along an axis; a NaN gives the others.
template <detail::TileLike A, int along, detail::ReductionOrder O = order::Any>
constexpr auto(max)(A&& a, Axis<along>, O = {}, location where = location::current()) {
  return detail::reduce<A, along, ir::Combine::max, O>(a, where);
}
/// Gives the minimum along an axis; a NaN gives the others.
template <detail::TileLike A, int along, detail::ReductionOrder O = order::Any>
constexpr auto(min)(A&& a, Axis<along>, O = {}, location where = location::current()) {
  return detail::reduce<A, along, ir::Combine::min, O>(a, where);
}

}  // namespace tegula
