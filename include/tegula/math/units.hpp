// Defines the rows of elementary.def that GPUs compute with the units that they have for powers of 2 and reciprocals:
// name_units of f32, over an abstract value type as elementary.hpp does. The pass expand-device-math puts them in place
// of the ops; hosts compute by elementary.hpp. The type has besides
//
//   power_of_2(a): 2^a within 2 ulp, 0 below 2^-126;  reciprocal(a): 1 / a within 1 ulp, 0 above 2^126
//   abs(a)
//
// and its multiply_add rounds once. Bounds are those of the column `gpu` of elementary.def.
#pragma once

#include "tegula/math/inverse.hpp"

namespace tegula::math {

namespace detail {

/// Returns `magnitude`, which is not negative, the sign of x.
template <class V>
constexpr V with_sign_of(V x, V magnitude) {
  auto const bits = to_bits(x);
  auto const sign = bits & like(bits, -0x7FFFFFFF - 1);
  return from_bits(to_bits(magnitude) | sign);
}

/// Holds log2(e) and log2(10), the first part rounded to f32.
inline constexpr Split2 log2e_f32{0x1.715476p+0, 0x1.4ae0c0p-26}, log2_of_10_f32{0x1.a934f0p+1, 0x1.2f346ep-24};

/// Holds a power of 2 in two factors: 2^r and 2^n.
template <class V>
struct ScaledPower {
  V power, scale;
};
/// Computes 2^(x * factor), whose parts have the same sign. The product is not rounded before n is taken off. Beyond
/// -126 to 127 n stays, and r grows: so infinities and NaN need no tests, and a subnormal result is rounded once.
template <class V>
constexpr ScaledPower<V> scaled_power(V x, Split2 factor) {
  constexpr double magic = 0x1.8p23 + 127;  // the sum holds n and the exponent's bias in its low bits
  V const high = like(x, factor.high);
  V const rounded = multiply_add(x, high, like(x, magic));
  V const shifted = clamp(rounded, magic - 126, magic + 127);
  V const minus_n = like(x, magic) - shifted;
  V const most = multiply_add(x, high, minus_n);
  V const r = multiply_add(x, like(x, factor.low), most);
  V const power = power_of_2(r);
  return {power, from_bits(shl<23>(to_bits(shifted)))};
}
template <class V>
constexpr V exp_units(V x, Split2 factor) {
  auto const [power, scale] = scaled_power(x, factor);
  return power * scale;
}
/// Computes exp(|x|) / 2.
template <class V>
constexpr V half_exp_units(V x) {
  auto const [power, scale] = scaled_power(abs(x), log2e_f32);
  return power * like(x, 0.5) * scale;
}

/// Approximate (tanh(x) / x - 1) / x^2 in powers of x^2, for x below 0.65.
inline constexpr double tanh_units_terms[] = {-0x1.555524p-2, 0x1.1103f2p-3, -0x1.b7cff2p-5, 0x1.4f5ef6p-6,
                                              -0x1.69710ep-8};
/// Approximate erf(x) / x - 1 in powers of x^2, for x below 0.9375, and log2(1 - erf(x)) in powers of x from there to
/// 4, where erf is 1. The error of the latter is weighed by 1 - erf; beyond 4 it goes on falling.
inline constexpr double erf_units_inner[] = {0x1.06eba6p-3,  -0x1.8126d4p-2, 0x1.ce17a6p-4,
                                             -0x1.b66324p-6, 0x1.464ff0p-8,  -0x1.36590ep-11};
inline constexpr double erf_units_outer[] = {-0x1.8cb516p-9, -0x1.9d6f06p+0, -0x1.e17970p-1,
                                             -0x1.0b148ep-3, 0x1.6ab518p-6,  -0x1.ce07fep-10};

}  // namespace detail

template <class V>
constexpr V exp_units(V x) {
  return detail::exp_units(x, detail::log2e_f32);
}
template <class V>
constexpr V exp10_units(V x) {
  return detail::exp_units(x, detail::log2_of_10_f32);
}

template <class V>
constexpr V sigmoid_units(V x) {
  V const power = detail::exp_units(abs(x), detail::scaled(detail::log2e_f32, -1));
  V const one = like(x, 1);
  V const above = select(x < like(x, 0), power, one);
  V const inverse = reciprocal(power + one);
  return above * inverse;
}

template <class V>
constexpr V cosh_units(V x) {
  V const half = detail::half_exp_units(x);
  V const inverse = reciprocal(half);
  return multiply_add(inverse, like(x, 0.25), half);
}
/// Computes 1 - 2 / (exp(2 |x|) + 1), and near 0 a polynomial.
template <class V>
constexpr V tanh_units(V x) {
  V const a = abs(x);
  V const power = power_of_2(a * like(x, 2 * detail::log2e));
  V const one = like(x, 1);
  V const inverse = reciprocal(power + one);
  V const outer = multiply_add(inverse, like(x, -2), one);
  V const square = x * x;
  V const rise = detail::polynomial(square, detail::tanh_units_terms, 5) * square;
  V const inner = multiply_add(rise, a, a);
  return detail::with_sign_of(x, select(a < like(x, 0.65), inner, outer));
}

/// Computes 1 - 2^p(|x|) for a polynomial p, and near 0 another one.
template <class V>
constexpr V erf_units(V x) {
  V const a = abs(x);
  V const power = power_of_2(detail::polynomial(a, detail::erf_units_outer, 6));
  V const one = like(x, 1);
  V const outer = one - power;
  V const square = x * x;
  V const rise = detail::polynomial(square, detail::erf_units_inner, 6);
  V const inner = multiply_add(rise, a, a);
  return detail::with_sign_of(x, select(a < like(x, 0.9375), inner, outer));
}

}  // namespace tegula::math
