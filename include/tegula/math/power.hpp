// Defines the functions that follow from exponentials and logarithms, and the remainder fmod. They are exp10, expm1,
// log10, log1p, atanh, sinh, cosh, sigmoid, cbrt and pow. elementary.hpp defines the other rows of elementary.def.
#pragma once

#include "tegula/math/circular.hpp"
#include "tegula/math/elementary.hpp"
#include "tegula/math/inverse.hpp"

namespace tegula::math {

namespace detail {

/// Holds exp(x) = (1 + tail) * 2^n, with `shifted` = n + magic.
template <class V>
struct Power {
  V tail, shifted;
};
template <class V>
constexpr Power<V> power_f32(V x) {
  V const magic = like(x, magic_f32);
  V const shifted = multiply_add(x, like(x, log2e), magic);
  V const n = shifted - magic;
  V const most = multiply_add(n, like(x, -ln2_high_f32), x);
  V const r = multiply_add(n, like(x, -ln2_low_f32), most);
  V const square = r * r;
  V const tail = multiply_add(polynomial(r, exp_f32_terms, 5), square, r);
  return {tail, shifted};
}
template <class V>
constexpr Power<V> power_f64(V x) {
  V const magic = like(x, magic_f64);
  V const shifted = x * like(x, log2e) + magic;
  V const n = shifted - magic;
  V const most = x - n * like(x, ln2_high_f64);
  V const r = most - n * like(x, ln2_low_f64);
  V const square = r * r;
  V const tail = polynomial(r, exp_f64_terms, 10) * square + r;
  return {tail, shifted};
}

/// Returns 1 - 2^-n; 1 from n = 64 on.
template <class V>
constexpr V without_power_f32(V shifted) {
  auto const m = to_bits(shifted);
  auto const biased = like(m, 3 * 127 + 0x4B400000) - m;
  V const inverse = from_bits(shl<23>(biased));
  V const one = like(shifted, 1);
  return select(like(shifted, magic_f32 + 64) < shifted, one, one - inverse);
}
template <class V>
constexpr V without_power_f64(V shifted) {
  auto const m = to_bits(shifted);
  auto const biased = like(m, 3 * 1023 + 0x4338000000000000) - m;
  V const inverse = from_bits(shl<52>(biased));
  V const one = like(shifted, 1);
  return select(like(shifted, magic_f64 + 64) < shifted, one, one - inverse);
}
/// Computes exp(x) - 1 = 2^n * (tail + (1 - 2^-n)).
template <class V>
constexpr V expm1_of_f32(Power<V> power) {
  return scale_f32(power.tail + without_power_f32(power.shifted), power.shifted);
}
template <class V>
constexpr V expm1_of_f64(Power<V> power) {
  return scale_f64(power.tail + without_power_f64(power.shifted), power.shifted);
}
/// Computes exp(x) / 2.
template <class V>
constexpr V half_exp_f32(Power<V> power) {
  V const one = like(power.tail, 1);
  return scale_f32(power.tail + one, power.shifted - one);
}
template <class V>
constexpr V half_exp_f64(Power<V> power) {
  V const one = like(power.tail, 1);
  return scale_f64(power.tail + one, power.shifted - one);
}

/// Computes sinh of a >= 0, from e = exp(a) - 1 below 1, from `half` = exp(a) / 2 above.
template <class V>
constexpr V sinh_of(V a, V e, V half) {
  V const limited = limited_to(e, 4);
  V const power = limited + like(a, 1);
  V const inner = (limited + limited / power) * like(a, 0.5);
  V const inverse = like(a, 0.25) / half;
  V const outer = half - inverse;
  return select(a < like(a, 1), inner, outer);
}

/// Computes log(1 + x) - log(u) for u, 1 + x rounded; x is not large.
template <class V>
constexpr V lost_by_sum(V x) {
  V const one = like(x, 1);
  V const u = one + x;
  V const kept = u - one;
  return (x - kept) / u;
}

/// Computes the sigmoid from power = exp(-abs(x)).
template <class V>
constexpr V sigmoid_of(V x, V power) {
  V const one = like(x, 1);
  V const above = select(x < like(x, 0), power, one);
  return above / (power + one);
}

/// Corrects a cube root y of a > 0 by a step of Newton's; 0 and infinity stay.
template <class V>
constexpr V cube_root(V a, V y) {
  V const quotient = a / (y * y);
  V const excess = y - quotient;
  V const root = multiply_add(excess, like(a, -1.0 / 3), y);
  V const zero = like(a, 0);
  V const finite = select(a < like(a, __builtin_inf()), root, a);
  return select(zero < a, finite, a);
}

/// Holds a number as a sum of two.
template <class V>
struct Pair {
  V high, low;
};
/// Adds numbers of which the first is the larger one, with the error of the sum.
template <class V>
constexpr Pair<V> sum_of(V a, V b) {
  V const high = a + b;
  V const kept = high - a;
  return {high, b - kept};
}
/// Parts an f64 in halves of 26 bits.
template <class V>
constexpr Pair<V> halves(V a) {
  V const product = a * like(a, 0x1p27 + 1);
  V const rest = product - a;
  V const high = product - rest;
  return {high, a - high};
}
/// Multiplies, with the error of the product: Dekker's.
template <class V>
constexpr Pair<V> product_of(V a, V b) {
  V const high = a * b;
  Pair<V> const x = halves(a);
  Pair<V> const y = halves(b);
  V const first = x.high * y.high - high;
  V const second = first + x.high * y.low;
  V const third = second + x.low * y.high;
  return {high, third + x.low * y.low};
}
template <class V>
constexpr Pair<V> product_of(Pair<V> a, Pair<V> b) {
  Pair<V> const most = product_of(a.high, b.high);
  V const left = a.high * b.low;
  V const right = a.low * b.high;
  return sum_of(most.high, most.low + (left + right));
}

/// Approximate (atanh(s) / s - 1) / s^2 - 1/3, divided by s^2, in powers of s^2.
inline constexpr double atanh_terms[] = {0x1.999999999999ap-3, 0x1.2492492492491p-3, 0x1.c71c71c71cffap-4,
                                         0x1.745d174511091p-4, 0x1.3b13b1bdb6e06p-4, 0x1.1110df4eab6e9p-4,
                                         0x1.e1f81928a2e17p-5, 0x1.ac47f1250ff7fp-5, 0x1.b8eb01553ad21p-5};

/// Computes log2 of a positive finite f64 in two parts, by log(1 + f) = 2 atanh(s), s = f / (2 + f).
template <class V>
constexpr Pair<V> log2_pair(V a) {
  auto const [e, f] = split_f64(a);
  Pair<V> const below = sum_of(like(a, 2), f);
  V const first = f / below.high;
  Pair<V> const back = product_of(first, below.high);
  V const missing = f - back.high - back.low;
  Pair<V> const s{first, (missing - first * below.low) / below.high};
  Pair<V> const square = product_of(s, s);
  V const tail = polynomial(square.high, atanh_terms, 9) * square.high;
  Pair<V> const third = sum_of(like(a, 0x1.5555555555555p-2), tail);
  Pair<V> const inner = product_of(square, {third.high, third.low + like(a, 0x1.5555555555555p-56)});
  Pair<V> const whole = sum_of(like(a, 1), inner.high);
  Pair<V> const ratio = product_of(s, {whole.high, whole.low + inner.low});
  Pair<V> const fraction = product_of(ratio, {like(a, 0x1.71547652b82fep+1), like(a, 0x1.777d0ffda0d24p-55)});
  Pair<V> const result = sum_of(e, fraction.high);
  // e may be 0, or as small as the fraction: below 1 it is 0, and the sum exact.
  return {result.high, result.low + fraction.low};
}

/// Tells whether y >= 0 is an integer, as 1 or 0; `limit` is a number whose spacing is 1.
template <class V>
constexpr V is_integer(V y, double limit) {
  V const one = like(y, 1);
  V const rounded = (y + like(y, limit)) - like(y, limit);
  V const zero = like(y, 0);
  V const equal = select(rounded == y, one, zero);
  return select(y < like(y, limit), equal, one);
}

/// Returns the power of a number from that of its magnitude a: signs, and C's special cases. b is y's magnitude,
/// `negated` the power with the sign of x.
template <class V>
constexpr V power_of_signed(V x, V y, V a, V b, V power, V negated, double limit) {
  V const one = like(x, 1);
  V const zero = like(x, 0);
  V const whole = is_integer(b, limit);
  V const even = is_integer(b * like(b, 0.5), limit);
  V const infinity = like(x, __builtin_inf());
  V const nan = like(x, __builtin_nan(""));
  V const undefined = select(a == infinity, power, nan);
  V const of_integer = select(even == one, power, negated);
  V const of_negative = select(whole == one, of_integer, undefined);
  // Zeros of both signs: -0 counts as negative, but to a fraction gives what 0 does.
  auto const bits = to_bits(x);
  V const of_zero = select(whole == one, of_integer, power);
  V const negative = select(x == zero, of_zero, of_negative);
  V const signed_power = select(bits < like(bits, 0), negative, power);
  V const defined = select(x == x, signed_power, x);
  V const of_one = select(x == one, one, defined);
  return select(y == zero, one, of_one);
}

/// Returns the remainder of a / b after the multiples of s are taken off; a < 2^52 s.
template <class V>
constexpr V without_multiples(V a, V s) {
  V const whole = like(a, 0x1p52);
  V const count = (a / s + whole) - whole;
  Pair<V> const product = product_of(count, s);
  V const rest = (a - product.high) - product.low;
  V const raised = rest + s;
  return select(rest < like(a, 0), raised, rest);
}

}  // namespace detail

template <class V>
constexpr V exp10_f32(V x) {
  V const limited = detail::clamp(x, -46, 39);
  V const magic = like(x, detail::magic_f32);
  V const shifted = limited * like(x, 0x1.a934f0979a371p+1) + magic;
  V const n = shifted - magic;
  V const most = limited - n * like(x, 0x1.3440p-2);
  V const left = most - n * like(x, 0x1.3509f8p-18);
  V const r = left * like(x, 0x1.26bb1bbb55516p+1);
  V const square = r * r;
  V const tail = detail::polynomial(r, detail::exp_f32_terms, 5) * square + r;
  return detail::scale_f32(tail + like(x, 1), shifted);
}
template <class V>
constexpr V exp10_f64(V x) {
  V const limited = detail::clamp(x, -325, 309);
  V const magic = like(x, detail::magic_f64);
  V const shifted = limited * like(x, 0x1.a934f0979a371p+1) + magic;
  V const n = shifted - magic;
  V const most = limited - n * like(x, 0x1.34413509f6p-2);
  V const left = most - n * like(x, 0x1.9fef311f12b36p-42);
  V const r = left * like(x, 0x1.26bb1bbb55516p+1);
  V const square = r * r;
  V const tail = detail::polynomial(r, detail::exp_f64_terms, 10) * square + r;
  return detail::scale_f64(tail + like(x, 1), shifted);
}

template <class V>
constexpr V expm1_f32(V x) {
  V const value = detail::expm1_of_f32(detail::power_f32(detail::clamp(x, -18, 89)));
  return detail::signed_f32(x, detail::magnitude_f32(value));
}
template <class V>
constexpr V expm1_f64(V x) {
  V const value = detail::expm1_of_f64(detail::power_f64(detail::clamp(x, -40, 710)));
  return detail::signed_f64(x, detail::magnitude_f64(value));
}

template <class V>
constexpr V log10_f32(V x) {
  auto const [e, f] = detail::split_f32(x, 0x3F3504F3);
  V const rest = (detail::log_rest_f32(f) + f) * like(x, 0x1.bcb7b1526e50ep-2);
  V const low = multiply_add(e, like(x, 0x1.3509f8p-18), rest);
  return detail::log_edges(x, multiply_add(e, like(x, 0x1.3440p-2), low));
}
template <class V>
constexpr V log10_f64(V x) {
  auto const [e, f] = detail::split_f64(x);
  V const rest = (detail::log_rest_f64(f) + f) * like(x, 0x1.bcb7b1526e50ep-2);
  V const low = e * like(x, 0x1.9fef311f12b36p-42) + rest;
  V const high = e * like(x, 0x1.34413509f6p-2);
  return detail::log_edges(x, high + low);
}

template <class V>
constexpr V log1p_f32(V x) {
  V const u = x + like(x, 1);
  V const lost = detail::lost_by_sum(detail::limited_to(x, 0x1p30));
  auto const [e, f] = detail::split_f32(u, 0x3F3504F3);
  V const low = multiply_add(e, like(x, detail::ln2_low_f32), lost);
  V const rest = f + (detail::log_rest_f32(f) + low);
  V const value = detail::log_edges(u, multiply_add(e, like(x, detail::ln2_high_f32), rest));
  return detail::signed_f32(x, detail::magnitude_f32(value));
}
template <class V>
constexpr V log1p_f64(V x) {
  V const u = x + like(x, 1);
  V const lost = detail::lost_by_sum(detail::limited_to(x, 0x1p60));
  auto const [e, f] = detail::split_f64(u);
  V const low = e * like(x, detail::ln2_low_f64) + lost;
  V const rest = f + (detail::log_rest_f64(f) + low);
  V const high = e * like(x, detail::ln2_high_f64);
  V const value = detail::log_edges(u, high + rest);
  return detail::signed_f64(x, detail::magnitude_f64(value));
}

template <class V>
constexpr V atanh_f32(V x) {
  V const a = detail::magnitude_f32(x);
  V const below_one = like(x, 1) - a;
  V const twice = a + a;
  V const ratio = twice / below_one;
  return detail::signed_f32(x, log1p_f32(ratio) * like(x, 0.5));
}
template <class V>
constexpr V atanh_f64(V x) {
  V const a = detail::magnitude_f64(x);
  V const below_one = like(x, 1) - a;
  V const twice = a + a;
  V const ratio = twice / below_one;
  return detail::signed_f64(x, log1p_f64(ratio) * like(x, 0.5));
}

template <class V>
constexpr V sinh_f32(V x) {
  V const a = detail::magnitude_f32(x);
  auto const power = detail::power_f32(detail::limited_to(a, 90));
  V const e = detail::expm1_of_f32(power);
  return detail::signed_f32(x, detail::sinh_of(a, e, detail::half_exp_f32(power)));
}
template <class V>
constexpr V sinh_f64(V x) {
  V const a = detail::magnitude_f64(x);
  auto const power = detail::power_f64(detail::limited_to(a, 711));
  V const e = detail::expm1_of_f64(power);
  return detail::signed_f64(x, detail::sinh_of(a, e, detail::half_exp_f64(power)));
}

template <class V>
constexpr V cosh_f32(V x) {
  V const a = detail::magnitude_f32(x);
  V const half = detail::half_exp_f32(detail::power_f32(detail::limited_to(a, 90)));
  V const inverse = like(x, 0.25) / half;
  return half + inverse;
}
template <class V>
constexpr V cosh_f64(V x) {
  V const a = detail::magnitude_f64(x);
  V const half = detail::half_exp_f64(detail::power_f64(detail::limited_to(a, 711)));
  V const inverse = like(x, 0.25) / half;
  return half + inverse;
}

template <class V>
constexpr V sigmoid_f32(V x) {
  V const a = detail::magnitude_f32(x);
  return detail::sigmoid_of(x, exp_f32(like(x, 0) - a));
}
template <class V>
constexpr V sigmoid_f64(V x) {
  V const a = detail::magnitude_f64(x);
  return detail::sigmoid_of(x, exp_f64(like(x, 0) - a));
}

template <class V>
constexpr V cbrt_f32(V x) {
  V const a = detail::magnitude_f32(x);
  V const y = exp2_f32(log2_f32(a) * like(x, 1.0 / 3));
  return detail::signed_f32(x, detail::cube_root(a, y));
}
template <class V>
constexpr V cbrt_f64(V x) {
  V const a = detail::magnitude_f64(x);
  V const y = exp2_f64(log2_f64(a) * like(x, 1.0 / 3));
  return detail::signed_f64(x, detail::cube_root(a, y));
}

/// Computes 2^(y log2 |x|) in f64.
template <class V>
constexpr V pow_f32(V x, V y) {
  V const a = detail::magnitude_f32(x);
  V const b = detail::magnitude_f32(y);
  auto const limited = widen(detail::clamp(y, -0x1p70, 0x1p70));
  V const power = narrow(exp2_f64(log2_f64(widen(a)) * limited));
  V const negated = detail::signed_f32(x, power);
  return detail::power_of_signed(x, y, a, b, power, negated, 0x1p23);
}
/// Does so with log2 and product in two parts each.
template <class V>
constexpr V pow_f64(V x, V y) {
  V const a = detail::magnitude_f64(x);
  V const b = detail::magnitude_f64(y);
  V const limited = detail::clamp(y, -0x1p70, 0x1p70);
  auto const logarithm = detail::log2_pair(a);
  auto const exponent = detail::product_of(logarithm.high, limited);
  V const low = logarithm.low * limited + exponent.low;
  V const high = detail::clamp(exponent.high, -1080, 1026);
  V const magic = like(x, detail::magic_f64);
  V const shifted = high + magic;
  V const most = high - (shifted - magic);
  V const r = most + detail::clamp(low, -1, 1);
  V const tail = detail::polynomial(r, detail::exp2_f64_terms, 11) * r;
  V const finite = detail::scale_f64(tail + like(x, 1), shifted);
  // 0 and infinity do not have a logarithm in two parts.
  V const zero = like(x, 0);
  V const infinity = like(x, __builtin_inf());
  V const of_zero = select(y < zero, infinity, zero);
  V const of_infinity = select(y < zero, zero, infinity);
  V const bounded = select(a < infinity, finite, of_infinity);
  V const chosen = select(zero < a, bounded, of_zero);
  V const power = select(y == y, chosen, y);
  V const negated = detail::signed_f64(x, power);
  return detail::power_of_signed(x, y, a, b, power, negated, 0x1p52);
}

/// Takes off multiples of y * 2^29, from the largest down, in f64; each step is exact.
template <class V>
constexpr V fmod_f32(V x, V y) {
  V const magnitude = detail::magnitude_f32(x);
  V const divisor = detail::magnitude_f32(y);
  V const infinity = like(x, __builtin_inf());
  V const zero = like(x, 0);
  auto rest = widen(select(magnitude < infinity, magnitude, zero));
  auto const by = detail::limited_to(widen(divisor), 0x1p200);
  for (int step = 9; step >= 0; --step) {
    auto const s = by * like(by, detail::power_of_two(29 * step));
    auto const whole = like(by, 0x1p52);
    auto const count = rest / s + whole - whole;
    auto const below = rest - count * s;
    auto const raised = below + s;
    rest = select(below < like(by, 0), raised, below);
  }
  V const value = narrow(rest);
  V const nan = like(x, __builtin_nan(""));
  V const defined = select(magnitude < infinity, value, nan);
  return detail::signed_f32(x, select(zero < divisor, defined, nan));
}
/// Takes off multiples of y * 2^52; products have two parts. Large numbers are scaled down for a step.
template <class V>
constexpr V fmod_f64(V x, V y) {
  V const magnitude = detail::magnitude_f64(x);
  V const divisor = detail::magnitude_f64(y);
  V const infinity = like(x, __builtin_inf());
  V const zero = like(x, 0);
  V const one = like(x, 1);
  V const down = like(x, 0x1p-200);
  V const up = like(x, 0x1p200);
  V rest = select(magnitude < infinity, magnitude, zero);
  for (int step = 40; step >= 0; --step) {
    V shifted = divisor;
    for (int bits = 52 * step; bits > 0; bits -= 1000)
      shifted = shifted * like(x, detail::power_of_two(bits < 1000 ? bits : 1000));
    V const s = detail::limited_to(shifted, 0x1.fffffffffffffp1023);
    auto const large = like(x, 0x1p800) < s;
    V const scale = select(large, down, one);
    V const scaled = rest * scale;
    V const left = detail::without_multiples(scaled, s * scale);
    V const back = left * select(large, up, one);
    rest = select(rest < shifted, rest, back);
  }
  V const nan = like(x, __builtin_nan(""));
  V const defined = select(magnitude < infinity, rest, nan);
  return detail::signed_f64(x, select(zero < divisor, defined, nan));
}

}  // namespace tegula::math
