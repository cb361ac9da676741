// Defines asin, acos, atan and atan2, as elementary.hpp defines the other rows of elementary.def.
#pragma once

#include "tegula/math/elementary.hpp"

namespace tegula::math {

namespace detail {

/// Approximate (atan(t) / t - 1) / t^2 in powers of t^2, for t up to tan(pi / 8).
inline constexpr double atan_f32_terms[] = {-0x1.555554p-2, 0x1.99974ap-3, -0x1.24231ap-3, 0x1.b84600p-4,
                                            -0x1.08e1d4p-4};
inline constexpr double atan_f64_terms[] = {
    -0x1.5555555555555p-2, 0x1.9999999999997p-3,  -0x1.24924924920e0p-3, 0x1.c71c71c6e06aep-4,  -0x1.745d1735fac1dp-4,
    0x1.3b13aebd4317cp-4,  -0x1.1110d07e44d80p-4, 0x1.e1d9159a48a16p-5,  -0x1.aebeb3e7ed6b1p-5, 0x1.82a680d6263fbp-5,
    -0x1.5061675e426fdp-5, 0x1.f6943eeb467acp-6,  -0x1.c952823ddc8d2p-7};
/// Approximate (asin(s) / s - 1) / s^2 in powers of s^2, for s up to 1/2.
inline constexpr double asin_f32_terms[] = {0x1.555554p-3, 0x1.333448p-4, 0x1.6d55e4p-5,
                                            0x1.fe10f4p-6, 0x1.169e82p-6, 0x1.15e25ep-5};
inline constexpr double asin_f64_terms[] = {
    0x1.5555555555556p-3, 0x1.3333333332e3fp-4,  0x1.6db6db6e3ef60p-5, 0x1.f1c71c16121d1p-6, 0x1.6e8bb2eec7636p-6,
    0x1.1c4d1b8e4801cp-6, 0x1.c9d1fe7b3450bp-7,  0x1.780a1c770395ap-7, 0x1.52f5043598824p-7, 0x1.5fce067907fb2p-8,
    0x1.20fca230b11e4p-6, -0x1.f28a6cdbc82e3p-7, 0x1.db21b5439b908p-6};

/// Holds a number of more digits than one value has.
struct Split2 {
  double high, low;
};
inline constexpr Split2 half_pi_f32{0x1.921fb6p+0, -0x1.777a5cp-25},
    half_pi_f64{0x1.921fb54442d18p+0, 0x1.1a62633145c07p-54};

/// Returns `value` * 2^-n for a number of digits.
constexpr Split2 scaled(Split2 value, double factor) { return {value.high * factor, value.low * factor}; }

/// Computes whole - x, `whole` in two parts.
template <class V>
constexpr V less_than(Split2 whole, V x) {
  V const rest = x - like(x, whole.low);
  return like(x, whole.high) - rest;
}

/// Computes atan(y / x) of y, x >= 0, from a quotient of at most tan(pi / 8).
template <int count, class V>
constexpr V atan_of(V y, V x, Split2 right_angle, double const (&terms)[count]) {
  auto const steep = x * like(x, 2.4142135623730951) < y;
  auto const middle = x * like(x, 0.41421356237309503) < y;
  V const negative = like(x, 0) - x;
  V const difference = y - x;
  V const sum = y + x;
  V const upper = select(middle, difference, y);
  V const lower = select(middle, sum, x);
  V const above = select(steep, negative, upper);
  V const below = select(steep, y, lower);
  V const t = above / below;
  V const square = t * t;
  V const rise = polynomial(square, terms, count) * square;
  V const own = multiply_add(rise, t, t);
  Split2 const quarter = scaled(right_angle, 0.5);
  V const zero = like(x, 0);
  V const half_low = like(x, right_angle.low);
  V const half_high = like(x, right_angle.high);
  V const quarter_low = like(x, quarter.low);
  V const quarter_high = like(x, quarter.high);
  V const small_low = select(middle, quarter_low, zero);
  V const small_high = select(middle, quarter_high, zero);
  V const rest = own + select(steep, half_low, small_low);
  return select(steep, half_high, small_high) + rest;
}

/// Computes atan2 of y >= 0, from the magnitudes a of y and b of x. Numbers above `limit` are scaled down by `factor`,
/// lest sums overflow. Numbers whose reciprocals are above it are scaled up, lest products be rounded as subnormal
/// numbers are.
template <int count, class V>
constexpr V atan2_of(V x, V a, V b, double limit, double factor, Split2 right_angle, double const (&terms)[count]) {
  V const one = like(x, 1);
  V const infinity = like(x, __builtin_inf());
  V const larger = select(a < b, b, a);
  V const least = like(x, limit);
  V const scaled_up = like(x, factor);
  V const large = like(x, 1 / factor);
  V const lowest = like(x, 1 / limit);
  V const up = select(larger < lowest, large, one);
  V const scale = select(least < larger, scaled_up, up);
  V const zero = like(x, 0);
  // Both 0: atan(0 / 1). Both infinite: atan(1 / 1).
  V const top_of_two = select(b == infinity, one, a);
  V const bottom_of_two = select(a == infinity, one, b);
  V const scaled_top = a * scale;
  V const scaled_bottom = b * scale;
  V const top = select(a == infinity, top_of_two, scaled_top);
  V const finite = select(b == infinity, bottom_of_two, scaled_bottom);
  V const bottom = select(larger == zero, one, finite);
  V const right = atan_of(top, bottom, right_angle, terms);
  V const left = less_than(scaled(right_angle, 2), right);
  auto const bits = to_bits(x);
  V const defined = select(bits < like(bits, 0), left, right);
  return select(x == x, defined, x);
}

/// Holds asin(s) for s up to 1/2, from which those of x follow.
template <class V>
struct InnerAsin {
  V a, value;
};
/// Takes s = |x| up to 1/2, else sqrt((1 - |x|) / 2), as asin(x) = pi / 2 - 2 asin(s).
template <int count, class V>
constexpr InnerAsin<V> inner_asin(V a, double const (&terms)[count]) {
  auto const outer = like(a, 0.5) < a;
  V const rest = like(a, 1) - a;
  V const half = rest * like(a, 0.5);
  V const own = a * a;
  V const square = select(outer, half, own);
  V const root = sqrt(square);
  V const s = select(outer, root, a);
  V const rise = polynomial(square, terms, count) * square;
  return {a, multiply_add(rise, s, s)};
}
template <class V>
constexpr V asin_of(InnerAsin<V> inner, Split2 right_angle) {
  V const twice = inner.value + inner.value;
  V const outer = less_than(right_angle, twice);
  return select(like(inner.a, 0.5) < inner.a, outer, inner.value);
}
/// Computes acos; `own`: inner.value with the sign of x.
template <class V>
constexpr V acos_of(V x, InnerAsin<V> inner, V own, Split2 right_angle) {
  V const twice = inner.value + inner.value;
  V const left = less_than(scaled(right_angle, 2), twice);
  V const outer = select(x < like(x, 0), left, twice);
  V const outside = less_than(right_angle, own);
  return select(like(x, 0.5) < inner.a, outer, outside);
}

}  // namespace detail

template <class V>
constexpr V atan_f32(V x) {
  V const a = detail::magnitude_f32(x);
  return detail::signed_f32(x, detail::atan_of(a, like(x, 1), detail::half_pi_f32, detail::atan_f32_terms));
}
template <class V>
constexpr V atan_f64(V x) {
  V const a = detail::magnitude_f64(x);
  return detail::signed_f64(x, detail::atan_of(a, like(x, 1), detail::half_pi_f64, detail::atan_f64_terms));
}

template <class V>
constexpr V atan2_f32(V y, V x) {
  V const a = detail::magnitude_f32(y);
  V const b = detail::magnitude_f32(x);
  return detail::signed_f32(y,
                            detail::atan2_of(x, a, b, 0x1p100, 0x1p-60, detail::half_pi_f32, detail::atan_f32_terms));
}
template <class V>
constexpr V atan2_f64(V y, V x) {
  V const a = detail::magnitude_f64(y);
  V const b = detail::magnitude_f64(x);
  return detail::signed_f64(y,
                            detail::atan2_of(x, a, b, 0x1p900, 0x1p-200, detail::half_pi_f64, detail::atan_f64_terms));
}

template <class V>
constexpr V asin_f32(V x) {
  V const a = detail::magnitude_f32(x);
  return detail::signed_f32(x, detail::asin_of(detail::inner_asin(a, detail::asin_f32_terms), detail::half_pi_f32));
}
template <class V>
constexpr V asin_f64(V x) {
  V const a = detail::magnitude_f64(x);
  return detail::signed_f64(x, detail::asin_of(detail::inner_asin(a, detail::asin_f64_terms), detail::half_pi_f64));
}

template <class V>
constexpr V acos_f32(V x) {
  V const a = detail::magnitude_f32(x);
  auto const inner = detail::inner_asin(a, detail::asin_f32_terms);
  return detail::acos_of(x, inner, detail::signed_f32(x, inner.value), detail::half_pi_f32);
}
template <class V>
constexpr V acos_f64(V x) {
  V const a = detail::magnitude_f64(x);
  auto const inner = detail::inner_asin(a, detail::asin_f64_terms);
  return detail::acos_of(x, inner, detail::signed_f64(x, inner.value), detail::half_pi_f64);
}

}  // namespace tegula::math
