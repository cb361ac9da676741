// Defines sin and cos, as elementary.hpp defines the other rows of elementary.def.
//
// An argument is counted in quarter turns: x * 2 / pi, without multiples of 4. 2 / pi is stored as digits of 25 bits. A
// large x needs only some of them. Digits whose product with x is a multiple of 4 in every bit are dropped, and the
// others are stored one after another again. So products are exact for an argument of any size.
#pragma once

#include "tegula/math/expansion.hpp"

namespace tegula::math {

namespace detail {

/// Holds the digits of 2 / pi after the point, from the first, as integers.
inline constexpr double two_over_pi[] = {21361414, 28915984, 11096033, 7699743,  10918840, 3594405,  13409825, 26231294,
                                         10667863, 24833813, 17676579, 14918692, 28990464, 26364858, 17098953, 1900061,
                                         30816610, 10919163, 21238191, 22211508, 9477427,  18614701, 3129120,  20550102,
                                         7538342,  15192690, 2292829,  31429251, 23330578, 33552257, 13371383, 19861899,
                                         11801818, 8238297,  32930110, 11574132, 32032748, 27760634, 18266771, 29018091,
                                         30139126, 15998183, 29119124, 19834559, 23852579, 31676226};
inline constexpr int digit_bits = 25;

constexpr double power_of_two(int exponent) {
  return std::bit_cast<double>(static_cast<std::int64_t>(1023 + exponent) << 52);
}

template <int count, class V>
struct Digits {
  V at[count];
};

/// Drops at most 2 * shift - 1 digits that are not needed, and scales x >= 0 to the first of the others. x has
/// `precision` bits. `width` digits are left.
template <int shift, int width, int precision, int count, class V>
constexpr Digits<width, V> needed_digits(V& x, Digits<count, V> const& digits) {
  if constexpr (shift == 0) {
    Digits<width, V> result{};
    for (int i = 0; i < width; ++i) result.at[i] = digits.at[i] * like(x, power_of_two(-digit_bits * (i + 1)));
    return result;
  } else {
    constexpr int left = count < width + shift - 1 ? count : width + shift - 1;
    auto const all_needed = x < like(x, power_of_two(digit_bits * shift + precision + 1));
    Digits<left, V> next{};
    for (int i = 0; i < left; ++i)
      next.at[i] = i + shift < count ? select(all_needed, digits.at[i], digits.at[i + shift]) : digits.at[i];
    V const scaled = x * like(x, power_of_two(-digit_bits * shift));
    x = select(all_needed, x, scaled);
    return needed_digits<shift / 2, width, precision>(x, next);
  }
}
template <int shift, int width, int precision, int count, class V>
constexpr Digits<width, V> digits_of_two_over_pi(V& x) {
  Digits<count, V> all{};
  for (int i = 0; i < count; ++i) all.at[i] = like(x, two_over_pi[i]);
  return needed_digits<shift, width, precision>(x, all);
}

/// Has the spacing 1 around it and 0 in its low bits.
inline constexpr double whole_f64 = 0x1.8p52;

/// Subtracts a multiple of 4 from 0 <= x < 2^54, exactly; the result is at most 4 away from 0.
template <class V>
constexpr V less_fours(V x) {
  V const whole = like(x, whole_f64);
  V const shifted = x * like(x, 0.25) + whole;
  V const nearest = shifted - whole;
  return x - nearest * like(x, 4);
}

/// Returns a + b and its rounding error.
template <class V>
struct Sum {
  V high;
  V low;
};
template <class V>
constexpr Sum<V> exact_sum(V a, V b) {
  V const sum = a + b;
  V const of_b = sum - a;
  V const of_a = sum - of_b;
  V const lost_b = b - of_b;
  V const lost_a = a - of_a;
  return {sum, lost_a + lost_b};
}

/// Clears the lower 27 bits of the value's mantissa.
template <class V>
constexpr V upper_bits(V x) {
  auto const bits = to_bits(x);
  return from_bits(bits & like(bits, -0x8000000));
}

/// Splits x into angle + a multiple of a whole turn + `quarters` / 4 turns, angle within pi / 4 or hardly more.
template <class V, class Int>
struct Turn {
  V high;        ///< of the angle
  V low;         ///< the rest of the angle below `high`
  Int quarters;  ///< in the lower two bits
};

inline constexpr double half_pi = 0x1.921fb54442d18p+0;
/// Holds pi / 2, short enough that its product with upper_bits is exact; the rest follows in the second constant.
inline constexpr double half_pi_high = 0x1.921fb5p+0;
inline constexpr double half_pi_low = 0x1.110b4611a6263p-26;

/// Reduces the finite value of an f32, x >= 0; in f64, to about 2^-45 of the angle. `low` is not used.
template <class V>
constexpr auto turn_of_f32(V x) {
  auto const c = digits_of_two_over_pi<4, 5, 24, 9>(x);
  V const first = less_fours(x * c.at[0]);
  V const second = less_fours(x * c.at[1]);
  V const third = x * c.at[2];
  V const whole = like(x, whole_f64);
  V const estimate = first + second + third;
  V const shifted = estimate + whole;
  V const quarters = shifted - whole;
  V const coarse = first - quarters + second + third;
  V const finer = coarse + x * c.at[3];
  V const fraction = finer + x * c.at[4];
  V const angle = fraction * like(x, half_pi);
  auto const bits = to_bits(shifted);
  return Turn<V, decltype(to_bits(x))>{angle, angle, bits};
}

/// Reduces finite x >= 2^-27; high + low is the angle to about 2^-78. Products of x are computed in two halves, and
/// added from the largest down with the error of each sum. So a sum that is about to cancel has not lost anything yet.
template <class V>
constexpr auto turn_of_f64(V x) {
  auto const c = digits_of_two_over_pi<32, 8, 53, 46>(x);
  V const upper = upper_bits(x);
  V const lower = x - upper;
  V const leading = upper * c.at[0];
  V const zero = like(x, 0);
  V const reduced = less_fours(leading);
  V const first = select(leading < like(x, 0x1p53), reduced, zero);  // beyond, a multiple of 4
  V terms[15] = {first,
                 less_fours(upper * c.at[1]),
                 less_fours(lower * c.at[0]),
                 less_fours(upper * c.at[2]),
                 less_fours(lower * c.at[1]),
                 upper * c.at[3],
                 lower * c.at[2],
                 upper * c.at[4],
                 lower * c.at[3],
                 upper * c.at[5],
                 lower * c.at[4],
                 upper * c.at[6],
                 lower * c.at[5],
                 upper * c.at[7],
                 lower * c.at[6]};
  V estimate = terms[0];
  for (int i = 1; i < 7; ++i) estimate = estimate + terms[i];
  V const whole = like(x, whole_f64);
  V const shifted = estimate + whole;
  V const quarters = shifted - whole;
  Sum<V> sum{terms[0] - quarters, zero};
  for (int i = 1; i < 15; ++i) {
    Sum<V> const next = exact_sum(sum.high, terms[i]);
    sum = {next.high, sum.low + next.low};
  }
  V const fraction = sum.high + sum.low;
  V const fraction_upper = upper_bits(fraction);
  V const missing = sum.high - fraction + sum.low;
  V const fraction_lower = fraction - fraction_upper + missing;
  V const angle = fraction_upper * like(x, half_pi_high);
  V const of_lower = fraction_lower * like(x, half_pi);
  V const rest = fraction_upper * like(x, half_pi_low) + of_lower;
  V const high = angle + rest;
  V const low = angle - high + rest;
  auto const bits = to_bits(shifted);
  return Turn<V, decltype(to_bits(x))>{high, low, bits};
}

/// Approximate (sin(r) - r) / r^3 and (cos(r) - 1) / r^2, in powers of r^2, to the precision of f32.
inline constexpr double sin_f32_terms[] = {-0x15555554cbac77p-55, 0x111110896efbb2p-59, -0x1a00f9e2cae774p-65,
                                           0x16cd878c3b46a7p-71};
inline constexpr double cos_f32_terms[] = {-0x1ffffffd0c5e81p-54, 0x155553e1053a42p-57, -0x16c087e80f1e27p-62,
                                           0x199342e0ee5069p-68};
/// Approximate (sin(r) - r) / r^3, and ((cos(r) - 1) / r^2 + 1/2) / r^2.
inline constexpr double sin_f64_first = -0x1.5555555555549p-3;
inline constexpr double sin_f64_terms[] = {0x1.111111110f8a6p-7, -0x1.a01a019c161d5p-13, 0x1.71de357b1fe7dp-19,
                                           -0x1.ae5e68a2b9cebp-26, 0x1.5d93a5acfd57cp-33};
inline constexpr double cos_f64_terms[] = {0x1.555555555554cp-5,   -0x1.6c16c16c15177p-10, 0x1.a01a019cb1590p-16,
                                           -0x1.27e4f809c52adp-22, 0x1.1ee9ebdb4b1c4p-29,  -0x1.8fae9be8838d4p-37};

/// Returns the sine of x + `ahead` quarter turns from the sine and the cosine of its angle.
template <class V, class Int>
constexpr V quarter(V sine, V cosine, Int quarters, Int sign, int ahead) {
  auto const turned = quarters + like(quarters, ahead);
  auto const zero = like(turned, 0);
  auto const odd = turned & like(turned, 1);
  V const value = select(odd == zero, sine, cosine);
  auto const flip = shl<62>(turned & like(turned, 2));
  auto const signs = flip + sign;  // sums of sign bits: a carry does not leave them
  return from_bits(to_bits(value) + signs);
}

/// Replaces infinity by NaN in the result.
template <class V>
constexpr V finite_or_nan(V x, V result) {
  V const infinity = like(x, __builtin_inf());
  V const nan = like(x, __builtin_nan(""));
  return select(x < infinity, result, nan);
}

/// Holds an f64 argument of sin (ahead = 0) or cos (1), where the sign of x does not matter.
template <class V, class Int>
struct Argument {
  V magnitude;
  V finite;  ///< the magnitude, 0 for infinity and NaN
  Int sign;  ///< bits that flip the result's sign
};
template <int ahead, class V>
constexpr auto argument(V x) {
  V const magnitude = magnitude_f64(x);
  auto const bits = to_bits(x);
  auto const sign = ahead == 0 ? bits - to_bits(magnitude) : like(bits, 0);
  V const infinity = like(x, __builtin_inf());
  V const zero = like(x, 0);
  V const finite = select(magnitude < infinity, magnitude, zero);
  return Argument<V, decltype(to_bits(x))>{magnitude, finite, sign};
}

/// Computes sin for ahead = 0, cos for 1. f32 are reduced in f64, as floats of 24 bits cannot hold the products; so is
/// the rest.
template <int ahead, class V>
constexpr V circular_f32(V x) {
  auto const wide = widen(x);
  auto const [magnitude, finite, sign] = argument<ahead>(wide);
  auto const turn = turn_of_f32(finite);
  auto const square = turn.high * turn.high;
  auto const cubic = polynomial(square, sin_f32_terms, 4) * square;
  auto const sine = cubic * turn.high + turn.high;
  auto const drop = polynomial(square, cos_f32_terms, 4) * square;
  auto const cosine = drop + like(wide, 1);
  auto const result = quarter(sine, cosine, turn.quarters, sign, ahead);
  return narrow(finite_or_nan(magnitude, result));
}
template <int ahead, class V>
constexpr V circular_f64(V x) {
  auto const [magnitude, finite, sign] = argument<ahead>(x);
  auto const turn = turn_of_f64(finite);
  V const square = turn.high * turn.high;
  V const half = like(x, 0.5);
  V const cube = square * turn.high;
  V const tail = cube * polynomial(square, sin_f64_terms, 5);
  V const correction = turn.low * half - tail;
  V const inner = square * correction - turn.low;
  V const rest = inner - cube * like(x, sin_f64_first);
  V const reduced = turn.high - rest;
  V const sine = select(finite < like(x, 0x1p-27), finite, reduced);
  V const one = like(x, 1);
  V const halved = square * half;
  V const near_one = one - halved;
  V const lost = one - near_one - halved;
  V const fourth = square * square;
  V const quartic = fourth * polynomial(square, cos_f64_terms, 6);
  V const of_low = quartic - turn.high * turn.low;
  V const cosine = near_one + (lost + of_low);
  V const result = quarter(sine, cosine, turn.quarters, sign, ahead);
  return finite_or_nan(magnitude, result);
}

}  // namespace detail

template <class V>
constexpr V sin_f32(V x) {
  return detail::circular_f32<0>(x);
}
template <class V>
constexpr V sin_f64(V x) {
  return detail::circular_f64<0>(x);
}

template <class V>
constexpr V cos_f32(V x) {
  return detail::circular_f32<1>(x);
}
template <class V>
constexpr V cos_f64(V x) {
  return detail::circular_f64<1>(x);
}

}  // namespace tegula::math
