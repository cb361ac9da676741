// Scans tiles along an axis: each element of the result joins all elements up to its place.
#pragma once

#include "tegula/dsl/reduce.hpp"

namespace tegula {

namespace detail {

struct Inclusive {};
struct Exclusive {};
struct Reverse {};

template <class O>
concept ScanOption = std::is_same_v<O, Inclusive> || std::is_same_v<O, Exclusive> || std::is_same_v<O, Reverse>;

template <class A, ir::Combine combine, int along, class... Options>
constexpr auto scan(std::remove_reference_t<A>& a, location where) {
  using S = shape_t<A>;
  using T = element_t<A>;
  constexpr bool used_once = !named_recipe<A>;
  constexpr bool number = !std::is_same_v<T, bool> || is_invalid<A>;
  constexpr bool wide = !is_narrow<T> || is_invalid<A>;
  constexpr int at = wrap_axis(along, S::rank);
  constexpr bool in_range = at >= 0 || is_invalid<A>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(number, "a scan must be of numbers, and a bool is not a number: cast the mask first");
  static_assert(wide, TEGULA_NARROW_ELEMENT);
  static_assert(in_range, "a scan must be along an axis that the tile has");
  if constexpr (!used_once || !number || !wide || at < 0 || is_invalid<A>)
    return Invalid<T, S>();
  else
    return Unary<T, S, ir::ScanOp, stored_t<A>>(
        ir::make_op<ir::ScanOp>(std::int64_t{at}, combine, (std::is_same_v<Options, Exclusive> || ...),
                                (std::is_same_v<Options, Reverse> || ...)),
        stored(a), where);
}

}  // namespace detail

/// Leaves the element itself out of its result of a scan. The first result is the start: 0, 1, -inf or inf, and the
/// lowest or highest integer.
inline constexpr detail::Exclusive exclusive;
/// Scans from the last element to the first.
inline constexpr detail::Reverse reverse;

/// Sums the elements up to each place along an axis: `cumsum(x, axis<1>)`, `cumsum(x, axis<0>, exclusive, reverse)`. A
/// compiled kernel adds in one fixed order; the host adds one after another. f16 and bf16 are summed in f32, and each
/// result is rounded once. Sums of integers wrap.
template <detail::TileLike A, int along, detail::ScanOption First = detail::Inclusive,
          detail::ScanOption Second = detail::Inclusive>
constexpr auto cumsum(A&& a, Axis<along>, First = {}, Second = {}, location where = location::current()) {
  return detail::scan<A, ir::Combine::sum, along, First, Second>(a, where);
}
/// Multiplies the elements up to each place; the rules of cumsum apply.
template <detail::TileLike A, int along, detail::ScanOption First = detail::Inclusive,
          detail::ScanOption Second = detail::Inclusive>
constexpr auto cumprod(A&& a, Axis<along>, First = {}, Second = {}, location where = location::current()) {
  return detail::scan<A, ir::Combine::product, along, First, Second>(a, where);
}
/// Returns the maximum of the elements up to each place; a NaN is left out.
template <detail::TileLike A, int along, detail::ScanOption First = detail::Inclusive,
          detail::ScanOption Second = detail::Inclusive>
constexpr auto cummax(A&& a, Axis<along>, First = {}, Second = {}, location where = location::current()) {
  return detail::scan<A, ir::Combine::max, along, First, Second>(a, where);
}
/// Returns the minimum of the elements up to each place; a NaN is left out.
template <detail::TileLike A, int along, detail::ScanOption First = detail::Inclusive,
          detail::ScanOption Second = detail::Inclusive>
constexpr auto cummin(A&& a, Axis<along>, First = {}, Second = {}, location where = location::current()) {
  return detail::scan<A, ir::Combine::min, along, First, Second>(a, where);
}

}  // namespace tegula
