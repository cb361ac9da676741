// Defines, in one place, the conversions between f32 and the floats of 8 and 16 bits. They are integer sequences on
// 32-bit lanes, over an abstract value type (see scalar.hpp). A narrow value is in the low bits of an integer lane
// whose other bits are zero.
#pragma once

#include "tegula/math/scalar.hpp"
#include "tegula/support/half.hpp"

namespace tegula::math {

/// Returns the exact value of the f16 in the low half of `bits`.
template <class Int>
constexpr auto f16_to_f32(Int bits) {
  auto const magnitude = bits & like(bits, 0x7FFF);
  // Moves the exponent's bias by 112; the product is exact and makes subnormals normal.
  auto const moved = from_bits(shl<13>(magnitude));
  auto const scaled = to_bits(moved * like(moved, 0x1p112));
  auto const is_finite = magnitude < like(bits, 0x7C00);
  auto const zero = like(bits, 0);
  auto const special = select(is_finite, zero, like(bits, 0x7F800000));
  auto const sign = shl<16>(bits & like(bits, 0x8000));
  return from_bits(scaled | special | sign);
}

/// Rounds to the nearest f16, ties to even; overflow gives infinity, NaN a quiet NaN of the same sign.
template <class F>
constexpr auto f32_to_f16(F x) {
  auto const bits = to_bits(x);
  auto const magnitude = bits & like(bits, 0x7FFFFFFF);
  auto const sign = shr<16>(bits) & like(bits, 0x8000);
  // Rebias by -112 and round at bit 13: half less one, plus the last kept bit, carries into it exactly when it must.
  auto const last_kept = shr<13>(magnitude) & like(bits, 1);
  auto const rebiased = magnitude + like(bits, 0x0FFF - (112 << 23));
  auto const normal = shr<13>(rebiased + last_kept);
  // 0.5 has the spacing of f16's subnormals, so this sum rounds to them.
  auto const half = like(x, 0.5);
  auto const shifted = to_bits(from_bits(magnitude) + half);
  auto const tiny = shifted - like(bits, 0x3F000000);
  auto const finite = select(magnitude < like(bits, 0x38800000), tiny, normal);
  auto const is_nan = like(bits, 0x7F800000) < magnitude;
  auto const nan = like(bits, 0x7E00);
  auto const special = select(is_nan, nan, like(bits, 0x7C00));
  return sign | select(magnitude < like(bits, 0x477FF000), finite, special);
}

/// Returns the exact value of the bf16 in the low half of `bits`.
template <class Int>
constexpr auto bf16_to_f32(Int bits) {
  return from_bits(shl<16>(bits));
}

/// Rounds to the nearest bf16, ties to even; overflow gives infinity, NaN a quiet NaN of the same sign.
template <class F>
constexpr auto f32_to_bf16(F x) {
  auto const bits = to_bits(x);
  auto const high = shr<16>(bits);
  auto const last_kept = high & like(bits, 1);
  auto const almost_half = bits + like(bits, 0x7FFF);
  auto const rounded = shr<16>(almost_half + last_kept) & like(bits, 0xFFFF);
  auto const sign = high & like(bits, 0x8000);
  auto const quiet = sign | like(bits, 0x7FC0);
  return select(x == x, rounded, quiet);
}

/// Describes a float of 8 bits: `greatest` is the code of its maximum, `special` the first code that is not a number.
template <Element element>
struct FloatOf8 {
  static constexpr int mantissa = info(element).mantissa;
  static constexpr int bias = (1 << (exponent_bits(element) - 1)) - 1;
  static constexpr int dropped = 23 - mantissa;
  static constexpr auto greatest = static_cast<std::int64_t>(float_bits<element>(info(element).max));
  static constexpr std::int64_t special = greatest + 1;
  static constexpr std::int64_t min_normal = std::int64_t{128 - bias} << 23;  ///< as the bits of an f32
  static constexpr double up = 0x1p60 * static_cast<double>(std::int64_t{1} << (67 - bias));
  /// Has the spacing of the subnormals.
  static constexpr double coarse = static_cast<double>(std::int64_t{1} << (24 - bias - mantissa));
};

/// Returns the exact value of the float in the low 8 bits of `bits`.
template <class Format, class Int>
constexpr auto f8_to_f32(Int bits) {
  auto const magnitude = bits & like(bits, 0x7F);
  // Moves the exponent's bias; the product is exact and makes subnormals normal.
  auto const moved = from_bits(shl<Format::dropped>(magnitude));
  auto const scaled = to_bits(moved * like(moved, Format::up));
  auto const is_number = magnitude < like(bits, Format::special);
  auto const zero = like(bits, 0);
  auto const special = select(is_number, zero, like(bits, 0x7F800000));
  auto const sign = shl<24>(bits & like(bits, 0x80));
  return from_bits(scaled | special | sign);
}

/// Rounds to the nearest float of 8 bits, ties to even; values beyond the maximum become the maximum, NaN 0x7F.
template <class Format, class F>
constexpr auto f32_to_f8(F x) {
  auto const bits = to_bits(x);
  auto const magnitude = bits & like(bits, 0x7FFFFFFF);
  auto const sign = shr<24>(bits) & like(bits, 0x80);
  auto const last_kept = shr<Format::dropped>(magnitude) & like(bits, 1);
  constexpr std::int64_t almost_half = (std::int64_t{1} << (Format::dropped - 1)) - 1;
  auto const rebiased = magnitude + like(bits, almost_half - (std::int64_t{127 - Format::bias} << 23));
  auto const normal = shr<Format::dropped>(rebiased + last_kept);
  // This number has the spacing of the subnormals, so the sum rounds to them.
  auto const coarse = like(x, Format::coarse);
  auto const tiny = to_bits(from_bits(magnitude) + coarse) - to_bits(coarse);
  auto const number = select(magnitude < like(bits, Format::min_normal), tiny, normal);
  auto const greatest = to_bits(f8_to_f32<Format>(like(bits, Format::greatest)));
  auto const finite = sign | select(magnitude < greatest, number, like(bits, Format::greatest));
  auto const is_nan = like(bits, 0x7F800000) < magnitude;
  return select(is_nan, like(bits, 0x7F), finite);
}

/// Returns the exact value of the narrow float in the low bits of `bits`.
template <Element element, class Int>
constexpr auto narrow_to_f32(Int bits) {
  static_assert(is_narrow_float(element), "narrow_to_f32: the element must be a float of 8 or 16 bits");
  if constexpr (is_f8(element))
    return f8_to_f32<FloatOf8<element>>(bits);
  else if constexpr (element == Element::f16)
    return f16_to_f32(bits);
  else
    return bf16_to_f32(bits);
}

/// Rounds to the nearest narrow float, ties to even.
template <Element element, class F>
constexpr auto f32_to_narrow(F x) {
  static_assert(is_narrow_float(element), "f32_to_narrow: the element must be a float of 8 or 16 bits");
  if constexpr (is_f8(element))
    return f32_to_f8<FloatOf8<element>>(x);
  else if constexpr (element == Element::f16)
    return f32_to_f16(x);
  else
    return f32_to_bf16(x);
}

/// Rounds an f64 to odd as an f32: when inexact, the neighbour with the last bit set. Rounding that to a narrow float
/// is rounding the f64 once.
template <class F64>
constexpr auto f64_to_f32_odd(F64 x) {
  auto const nearest = narrow(x);
  auto const back = widen(nearest);
  auto const bits = to_bits(nearest);
  auto const wide_bits = to_bits(x);
  auto const mask = like(wide_bits, 0x7FFFFFFFFFFFFFFF);
  auto const magnitude = wide_bits & mask;
  auto const rounded_magnitude = to_bits(back) & mask;
  auto const one = like(bits, 1);
  auto const inward = bits - one;
  auto const truncated = select(magnitude < rounded_magnitude, inward, bits);
  auto const odd = truncated | one;
  auto const inexact = select(x == x, odd, bits);  // NaN stays
  return from_bits(select(back == x, bits, inexact));
}

/// Returns a 64-bit integer whose conversion to f64 is exact and rounds to any narrow float as the integer itself does.
template <class I64>
constexpr I64 shorten_i64(I64 x) {
  auto const zero = like(x, 0);
  auto const negative = x < zero;
  auto const magnitude = select(negative, zero - x, x);
  auto const dropped = x & like(x, 0x7FF);
  auto const is_exact = dropped == zero;
  auto const sticky = select(is_exact, zero, like(x, 0x800));
  auto const large = (x & like(x, -0x800)) | sticky;
  // The minimum integer is its own negative: its low bits are zero, so either choice is right.
  return select(magnitude < like(x, std::int64_t{1} << 53), x, large);
}

}  // namespace tegula::math
