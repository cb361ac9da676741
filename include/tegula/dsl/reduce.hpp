// Reductions along an axis, which stays with extent 1.
#pragma once

#include "tegula/dsl/math.hpp"

namespace tegula {

/// How a reduction associates. Any: one fixed tree per compiled kernel. Pairwise: adjacent pairs first, an odd last one
/// carried up; the same bits on every target.
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
  if constexpr (named_recipe<A> || std::is_same_v<T, bool> || at < 0)
    return Invalid<T, S>();
  else
    return Unary<T, shape_from<Reduced<S, at>>, ir::ReduceOp, stored_t<A>>(
        ir::make_op<ir::ReduceOp>(std::int64_t{at}, combine, O::value), stored(a), where);
}

}  // namespace detail

#define TEGULA_REDUCTION(name, combine)                                                                               \
  template <detail::TileLike A, int along, detail::ReductionOrder O = order::Any>                                     \
  constexpr auto(name)(A&& a, Axis<along>, O = {}, location where = location::current()) {                            \
    static_assert(!detail::named_recipe<A>, TEGULA_NAMED_RECIPE);                                                     \
    static_assert(!std::is_same_v<detail::element_t<A>, bool>, #name ": a bool is not a number; cast the mask first"); \
    static_assert(detail::wrap_axis(along, detail::shape_t<A>::rank) >= 0, #name ": the tile has no such axis");      \
    return detail::reduce<A, along, ir::Combine::combine, O>(a, where);                                               \
  }
/// Sum along an axis, which stays with extent 1; f16 and bf16 are summed in f32 and rounded once.
TEGULA_REDUCTION(sum, sum)
/// Greatest element along an axis; a NaN gives the others.
TEGULA_REDUCTION(max, max)
/// Least element along an axis; a NaN gives the others.
TEGULA_REDUCTION(min, min)
#undef TEGULA_REDUCTION

}  // namespace tegula
