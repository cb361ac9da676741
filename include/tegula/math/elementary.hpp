// Defines each expanded row of elementary.def once, name_f32 and name_f64, as plain arithmetic over an abstract value
// type (see scalar.hpp for its interface). The same text gives the constexpr scalar function of functions.hpp and the
// ops that the pass expand-math puts in place of the op. So every executor that expands gives the same bits.
// Multiplications are never fused with additions, except those of f32 by multiply_add on GPUs. There, units.hpp has
// other formulas for some rows.
//
// Error bounds are those of elementary.def. Every step is a separate statement with at most one operand that is
// computed in it. C++ leaves the order of operands open; the ops must not depend on the compiler.
#pragma once

#include "tegula/math/circular.hpp"
#include "tegula/math/expansion.hpp"

namespace tegula::math {

namespace detail {

/// Limits x to [low, high]; NaN stays NaN. Written so that each select is one minimum or maximum instruction.
template <class V>
constexpr V clamp(V x, double low, double high) {
  V const top = like(x, high);
  V const limited = select(top < x, top, x);
  V const bottom = like(x, low);
  return select(limited < bottom, bottom, limited);
}

// Reduces the range by adding 1.5 * 2^mantissa bits: the sum is rounded to an integer n that is in its low bits. The
// number added also holds twice the exponent bias, so those bits are m = n + 2 * bias. m >> 1 and m - (m >> 1) are the
// biased exponents of two powers of two with product 2^n. Two factors, because n exceeds the exponents of normal
// numbers at both ends. The last multiplication alone rounds, so subnormal results are right.
inline constexpr double magic_f32 = 0x1.8p23 + 254;
inline constexpr double magic_f64 = 0x1.8p52 + 2046;

/// Returns p * 2^n with `shifted` = n + magic.
template <class V>
constexpr V scale_f32(V p, V shifted) {
  auto const m = to_bits(shifted);
  auto const half = shr<1>(m);
  V const first = p * from_bits(shl<23>(half));
  return first * from_bits(shl<23>(m - half));
}
template <class V>
constexpr V scale_f64(V p, V shifted) {
  auto const all = to_bits(shifted);
  auto const m = all & like(all, 0x7FFFFFFFFFFFFFFF);  // never negative: lets a 64-bit shift be the logical one
  auto const half = shr<1>(m);
  V const first = p * from_bits(shl<52>(half));
  return first * from_bits(shl<52>(m - half));
}

inline constexpr double exp_f32_terms[] = {0x1.fffffcp-2, 0x1.555490p-3, 0x1.5558a6p-5, 0x1.123ae6p-7, 0x1.6a58fcp-10};
inline constexpr double exp_f64_terms[] = {
    0x1.000000000000ap-1,  0x1.5555555555500p-3,  0x1.555555555066ap-5,  0x1.111111112659fp-7,  0x1.6c16c18494ca9p-10,
    0x1.a01a013177527p-13, 0x1.a01998f67ebc5p-16, 0x1.71df15c3e04d3p-19, 0x1.28ae6ebfaa4ecp-22, 0x1.ad980952c4daep-26};
/// Approximate (2^r - 1) / r - 1.
inline constexpr double exp2_f32_terms[] = {-0x1.3a379ep-2, 0x1.ebfbe2p-3,  0x1.c6aea8p-5,
                                            0x1.3b2916p-7,  0x1.5f555cp-10, 0x1.44d276p-13};
inline constexpr double exp2_f64_terms[] = {0x1.62e42fefa39efp-1,  0x1.ebfbdff82c59dp-3,  0x1.c6b08d704a0d1p-5,
                                            0x1.3b2ab6fba0f6dp-7,  0x1.5d87fe78b436ep-10, 0x1.4309130c81b75p-13,
                                            0x1.ffcbfbf71202cp-17, 0x1.62bfcc9b0467bp-20, 0x1.b5260fdd69caap-24,
                                            0x1.e613d24bbb3aep-28, 0x1.e80d6924a0ed5p-32};
/// Approximate (log(1 + f) - f + f^2 / 2) / f^3.
inline constexpr double log_f32_terms[] = {0x1.555554p-2, -0x1.000226p-2, 0x1.99a022p-3, -0x1.547292p-3,
                                           0x1.22d87ap-3, -0x1.0d8110p-3, 0x1.0563ecp-3, -0x1.38debcp-4};
/// Approximate log2(1 + f) = 1.5 f - 0.75 f^2 + f * first + f^2 * (second + f * (...)): the first two of its terms are
/// nearly all of it.
inline constexpr double log2_f32_first = -0x1.d57136p-5;
inline constexpr double log2_f32_second = 0x1.d57140p-6;
inline constexpr double log2_f32_terms[] = {0x1.ec70a6p-2,  -0x1.71540ap-2, 0x1.27745ap-2,
                                            -0x1.ecc338p-3, 0x1.a6c1aep-3,  -0x1.69006cp-3,
                                            0x1.3cf9b6p-3,  -0x1.790210p-3, 0x1.64b3dep-3};
/// Approximate (log((1 + s) / (1 - s)) - 2 s) / s^3, in powers of s^2.
inline constexpr double log_f64_terms[] = {0x1.5555555555593p-1, 0x1.999999997fa5bp-2, 0x1.24924942209a1p-2,
                                           0x1.c71c51e2588bfp-3, 0x1.74664711bd201p-3, 0x1.39a0e326c5860p-3,
                                           0x1.2f0e17683915bp-3};

inline constexpr double log2e = 0x1.71547652b82fep+0;
/// Holds ln 2, short enough that its product with any exponent is exact; the rest follows in the second constant.
inline constexpr double ln2_high_f32 = 0x1.62e4p-1;
inline constexpr double ln2_low_f32 = 0x1.7f7d1cp-20;
inline constexpr double ln2_high_f64 = 0x1.62e42feep-1;
inline constexpr double ln2_low_f64 = 0x1.a39ef35793c76p-33;

/// Splits x = 2^exponent * (1 + fraction) with 1 + fraction in [least, 2 * least). For positive finite x; else
/// meaningless.
template <class V>
struct Split {
  V exponent;
  V fraction;
};
/// Splits x; `low` is a number of (0.5, 1) by its bits.
template <class V>
constexpr Split<V> split_f32(V x, std::int64_t low) {
  auto const tiny = x < like(x, 0x1p-126);
  auto const bits = to_bits(select(tiny, x * like(x, 0x1p25), x));
  auto const moved = bits + like(bits, 0x3F800000 - low);
  auto const biased = from_bits(shr<23>(moved) | like(bits, 0x4B000000));
  V const scaled_bias = like(x, 0x1p23 + 152);
  V const bias = select(tiny, scaled_bias, like(x, 0x1p23 + 127));
  V const exponent = biased - bias;
  auto const mantissa = moved & like(bits, 0x007FFFFF);
  V const reduced = from_bits(mantissa + like(bits, low));
  return {exponent, reduced - like(x, 1)};
}
/// Splits x with low = sqrt(1/2).
template <class V>
constexpr Split<V> split_f64(V x) {
  auto const tiny = x < like(x, 0x1p-1022);
  auto const bits = to_bits(select(tiny, x * like(x, 0x1p54), x));
  auto const sum = bits + like(bits, 0x3FF0000000000000 - 0x3FE6A09E667F3BCD);
  auto const moved = sum & like(bits, 0x7FFFFFFFFFFFFFFF);
  auto const biased = from_bits(shr<52>(moved) | like(bits, 0x4330000000000000));
  V const scaled_bias = like(x, 0x1p52 + 1077);
  V const bias = select(tiny, scaled_bias, like(x, 0x1p52 + 1023));
  V const exponent = biased - bias;
  auto const mantissa = moved & like(bits, 0x000FFFFFFFFFFFFF);
  V const reduced = from_bits(mantissa + like(bits, 0x3FE6A09E667F3BCD));
  return {exponent, reduced - like(x, 1)};
}

/// Computes log(1 + f) - f.
template <class V>
constexpr V log_rest_f32(V f) {
  V const square = f * f;
  V const cubic = polynomial(f, log_f32_terms, 8) * f * square;
  return multiply_add(square, like(f, -0.5), cubic);
}
/// Computes it from log(1 + f) = 2 s + s^3 R(s^2), s = f / (2 + f), with 2 s = f - s f.
template <class V>
constexpr V log_rest_f64(V f) {
  V const s = f / (like(f, 2) + f);
  V const square = s * s;
  V const whole = f * f;
  V const half = whole * like(f, 0.5);
  V const tail = polynomial(square, log_f64_terms, 7) * square;
  return s * (half + tail) - half;
}

/// Sets the values at 0, negative numbers, infinity and NaN.
template <class V>
constexpr V log_edges(V x, V result) {
  V const infinity = like(x, __builtin_inf());
  V const finite = select(x < infinity, result, x);
  V const zero = like(x, 0);
  V const pole = like(x, -__builtin_inf());
  V const nan = like(x, __builtin_nan(""));
  V const edge = select(x == zero, pole, nan);
  return select(zero < x, finite, edge);
}

/// Returns `magnitude` with the sign of x.
template <class V>
constexpr V signed_f32(V x, V magnitude) {
  auto const bits = to_bits(x);
  auto const sign = bits - to_bits(magnitude_f32(x));
  return from_bits(to_bits(magnitude) | sign);
}
template <class V>
constexpr V signed_f64(V x, V magnitude) {
  auto const bits = to_bits(x);
  auto const sign = bits - to_bits(magnitude_f64(x));
  return from_bits(to_bits(magnitude) | sign);
}
/// Returns the minimum of the magnitude and `limit`; NaN stays NaN.
template <class V>
constexpr V limited_to(V magnitude, double limit) {
  V const top = like(magnitude, limit);
  return select(top < magnitude, top, magnitude);
}

/// Approximate (tanh(x) / x - 1) / x^2, in powers of x^2.
inline constexpr double tanh_f32_terms[] = {-0x1.555556p-2, 0x1.1110eap-3,  -0x1.ba08c4p-5,
                                            0x1.64a976p-6,  -0x1.116a16p-7, 0x1.2c83c0p-9};
inline constexpr double tanh_f64_terms[] = {-0x1.5555555555555p-2,  0x1.11111111110a8p-3,   -0x1.ba1ba1ba0f126p-5,
                                            0x1.664f487e0a749p-6,   -0x1.226e3473dce5cp-7,  0x1.d6d39ae3905e2p-9,
                                            -0x1.7d9f6f23e8682p-10, 0x1.3526e9ed54da1p-11,  -0x1.f243823c8c981p-13,
                                            0x1.8445870f6fe41p-14,  -0x1.05bbdae896297p-15, 0x1.b33642a122cddp-18};

/// Computes tanh of x in [0, limit] from `power` = exp(2 x).
template <int count, class V>
constexpr V tanh_from(V x, V power, double const (&terms)[count]) {
  V const square = x * x;
  V const rise = polynomial(square, terms, count) * square;
  V const inner = rise * x + x;
  V const one = like(x, 1);
  V const two = like(x, 2);
  V const outer = one - two / (power + one);
  return select(x < like(x, 0.625), inner, outer);
}

/// Approximate erf(x) / x - 1, in powers of x^2, for x below 1.
inline constexpr double erf_f32_inner[] = {0x1.06eba8p-3, -0x1.81273ep-2,  0x1.ce2d10p-4, -0x1.b7fabap-6,
                                           0x1.541270p-8, -0x1.a45088p-11, 0x1.4a5690p-14};
inline constexpr double erf_f64_inner[] = {0x1.06eba8214db69p-3,   -0x1.812746b0379e6p-2,  0x1.ce2f21a042b30p-4,
                                           -0x1.b82ce31284e00p-6,  0x1.565bcd0dbaa38p-8,   -0x1.c02db3dac435fp-11,
                                           0x1.f9a321d5b8e1ep-14,  -0x1.f4d1e3183f7aep-17, 0x1.b9df224ca4b97p-20,
                                           -0x1.5f1ecb6f0764cp-23, 0x1.f7b4bf3b13964p-27,  -0x1.389d4f2641625p-30,
                                           0x1.05ffd737fb32ep-34};
/// Approximate -log(1 - erf(x)), in powers of x - 1, for x from 1 to where erf is 1; the error is weighed by 1 - erf.
inline constexpr double erf_f32_outer[] = {0x1.d97fc0p+0,  0x1.51c9aap+1,  0x1.afad60p-1,  0x1.53f042p-5,
                                           -0x1.43e6bap-7, 0x1.ddabacp-10, -0x1.832ed0p-13};
inline constexpr double erf_f64_outer[] = {0x1.d97fbf27aa2a1p+0,   0x1.51c9b0006c218p+1,   0x1.afabc11a2b089p-1,
                                           0x1.5477f099ad0aap-5,   -0x1.48c9d37e57486p-7,  0x1.033f59f0183eap-9,
                                           -0x1.f1b0419e29184p-13, -0x1.b92ea20f4538cp-16, 0x1.c85435a8e8a52p-16,
                                           -0x1.4488c5a0d8c5ap-17, 0x1.1e36879ded0e9p-19,  -0x1.b8a97a717c58cp-23,
                                           -0x1.f07c558a4cf75p-25, 0x1.1e1afd6739de9p-25,  -0x1.23e7a87f15095p-27,
                                           0x1.696de525eb1e7p-30,  -0x1.05657360b9b97p-33, 0x1.54cb15a5b1558p-38};

/// Computes the exponent of 1 - erf(x).
template <int count, class V>
constexpr V erf_exponent(V x, double const (&terms)[count]) {
  V const beyond = x - like(x, 1);
  V const zero = like(x, 0);
  return zero - polynomial(beyond, terms, count);
}
template <int count, class V>
constexpr V erf_from(V x, V power, double const (&terms)[count]) {
  V const square = x * x;
  V const inner = polynomial(square, terms, count) * x + x;
  V const one = like(x, 1);
  V const outer = one - power;
  return select(x < one, inner, outer);
}

}  // namespace detail

template <class V>
constexpr V exp_f32(V x) {
  V const limited = detail::clamp(x, -104, 89);
  V const magic = like(x, detail::magic_f32);
  V const shifted = limited * like(x, detail::log2e) + magic;
  V const n = shifted - magic;
  V const partial = limited - n * like(x, detail::ln2_high_f32);
  V const r = partial - n * like(x, detail::ln2_low_f32);
  V const square = r * r;
  V const tail = detail::polynomial(r, detail::exp_f32_terms, 5) * square + r;
  V const p = tail + like(x, 1);
  return detail::scale_f32(p, shifted);
}

template <class V>
constexpr V exp_f64(V x) {
  V const limited = detail::clamp(x, -746, 710);
  V const magic = like(x, detail::magic_f64);
  V const shifted = limited * like(x, detail::log2e) + magic;
  V const n = shifted - magic;
  V const partial = limited - n * like(x, detail::ln2_high_f64);
  V const r = partial - n * like(x, detail::ln2_low_f64);
  V const square = r * r;
  V const tail = detail::polynomial(r, detail::exp_f64_terms, 10) * square + r;
  V const p = tail + like(x, 1);
  return detail::scale_f64(p, shifted);
}

template <class V>
constexpr V exp2_f32(V x) {
  V const limited = detail::clamp(x, -151, 128);
  V const magic = like(x, detail::magic_f32);
  V const shifted = limited + magic;
  V const r = limited - (shifted - magic);
  V const tail = multiply_add(detail::polynomial(r, detail::exp2_f32_terms, 6), r, r);
  V const p = tail + like(x, 1);
  return detail::scale_f32(p, shifted);
}

template <class V>
constexpr V exp2_f64(V x) {
  V const limited = detail::clamp(x, -1076, 1024);
  V const magic = like(x, detail::magic_f64);
  V const shifted = limited + magic;
  V const r = limited - (shifted - magic);
  V const tail = detail::polynomial(r, detail::exp2_f64_terms, 11) * r;
  V const p = tail + like(x, 1);
  return detail::scale_f64(p, shifted);
}

template <class V>
constexpr V log_f32(V x) {
  auto const [e, f] = detail::split_f32(x, 0x3F3504F3);  // sqrt(1/2)
  V const own = detail::log_rest_f32(f);
  V const rest = f + multiply_add(e, like(x, detail::ln2_low_f32), own);
  return detail::log_edges(x, multiply_add(e, like(x, detail::ln2_high_f32), rest));
}

template <class V>
constexpr V log_f64(V x) {
  auto const [e, f] = detail::split_f64(x);
  V const low = e * like(x, detail::ln2_low_f64);
  V const rest = f + (detail::log_rest_f64(f) + low);
  V const high = e * like(x, detail::ln2_high_f64);
  return detail::log_edges(x, high + rest);
}

/// Computes log2. 1.5 f is exact. The exponent is added to it with the sum's error kept; then come the other terms,
/// from the smallest up.
template <class V>
constexpr V log2_f32(V x) {
  auto const [e, f] = detail::split_f32(x, 0x3F2AAAAB);  // 2/3
  V const main = f * like(x, 1.5);
  V const high = e + main;
  V const low = main - (high - e);
  V const square = f * f;
  V const linear = multiply_add(f, like(x, detail::log2_f32_first), low);
  V const tail = detail::polynomial(f, detail::log2_f32_terms, 9);
  V const factor = multiply_add(tail, f, like(x, detail::log2_f32_second));
  V const near_one = multiply_add(square, factor, linear);
  V const rest = multiply_add(square, like(x, -0.75), near_one);
  return detail::log_edges(x, high + rest);
}

/// Computes log2(1 + f) = (f + rest) * (1 + excess), the parts summed from the smallest up.
template <class V>
constexpr V log2_f64(V x) {
  auto const [e, f] = detail::split_f64(x);
  V const rest = detail::log_rest_f64(f);
  V const excess = like(x, detail::log2e - 1);
  V const low = rest * excess;
  V const tail = low + f * excess;
  return detail::log_edges(x, tail + rest + f + e);
}

/// Returns 1 from 10 on (f64: 20).
template <class V>
constexpr V tanh_f32(V x) {
  V const limited = detail::limited_to(detail::magnitude_f32(x), 10);
  V const power = exp_f32(limited + limited);
  return detail::signed_f32(x, detail::tanh_from(limited, power, detail::tanh_f32_terms));
}
template <class V>
constexpr V tanh_f64(V x) {
  V const limited = detail::limited_to(detail::magnitude_f64(x), 20);
  V const power = exp_f64(limited + limited);
  return detail::signed_f64(x, detail::tanh_from(limited, power, detail::tanh_f64_terms));
}
/// The CPU computes tanh for it.
template <class V>
constexpr V fast_tanh_f32(V x) {
  return tanh_f32(x);
}
template <class V>
constexpr V fast_tanh_f64(V x) {
  return tanh_f64(x);
}

/// Returns 1 from 4 on (f64: 6).
template <class V>
constexpr V erf_f32(V x) {
  V const limited = detail::limited_to(detail::magnitude_f32(x), 4);
  V const power = exp_f32(detail::erf_exponent(limited, detail::erf_f32_outer));
  return detail::signed_f32(x, detail::erf_from(limited, power, detail::erf_f32_inner));
}
template <class V>
constexpr V erf_f64(V x) {
  V const limited = detail::limited_to(detail::magnitude_f64(x), 6);
  V const power = exp_f64(detail::erf_exponent(limited, detail::erf_f64_outer));
  return detail::signed_f64(x, detail::erf_from(limited, power, detail::erf_f64_inner));
}

template <class V>
constexpr V rsqrt_f32(V x) {
  V const root = sqrt(x);
  return like(x, 1) / root;
}
template <class V>
constexpr V rsqrt_f64(V x) {
  return rsqrt_f32(x);
}

}  // namespace tegula::math
