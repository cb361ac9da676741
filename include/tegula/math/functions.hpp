// Defines elementary functions, integer arithmetic and conversions of scalars, constexpr, with the meanings of
// ops/arith.hpp. host<T> and the simulator compute with them. Elements of 8 and 16 bits are passed as their bits.
#pragma once

#include <limits>

#include "tegula/math/convert.hpp"
#include "tegula/math/power.hpp"
#include "tegula/support/element.hpp"

namespace tegula::math {

constexpr bool is_nan(double x) { return x != x; }

namespace detail {

__extension__ using Wide = unsigned __int128;

/// Computes the square root by integers, digit by digit, for compile time.
constexpr double sqrt_digits(double x, int mantissa_bits) {
  // x = m * 2^e with an even e and m of 2 * (mantissa_bits + 2) bits, whose root has one bit to round by.
  int exponent = 0;
  while (x < 1) x *= 4, exponent -= 1;
  while (x >= 4) x /= 4, exponent += 1;
  Wide root = 0;
  auto const significand = std::bit_cast<std::uint64_t>(x) & 0xFFFFFFFFFFFFF;
  bool const odd = x >= 2;
  Wide rest = (static_cast<Wide>(significand | 0x10000000000000) << (odd ? 1 : 0)) << 54;  // x * 2^106
  for (Wide bit = static_cast<Wide>(1) << 106; bit != 0; bit >>= 2) {
    if (rest >= root + bit) {
      rest -= root + bit;
      root = (root >> 1) + bit;
    } else {
      root >>= 1;
    }
  }
  // root is sqrt(x) * 2^53 rounded down, in [2^53, 2^54): keep mantissa_bits + 1 of its 54 bits.
  int const drop = 53 - mantissa_bits;
  auto kept = static_cast<std::uint64_t>(root >> drop);
  auto const tail = static_cast<std::uint64_t>(root) & ((std::uint64_t{1} << drop) - 1);
  auto const half = std::uint64_t{1} << (drop - 1);
  if (tail > half || (tail == half && (rest != 0 || (kept & 1) != 0))) ++kept;
  auto result = static_cast<double>(kept);
  for (int i = 0; i < mantissa_bits; ++i) result /= 2;
  for (; exponent > 0; --exponent) result *= 2;
  for (; exponent < 0; ++exponent) result /= 2;
  return result;
}

template <class T>
constexpr T sqrt(T x, int mantissa_bits) {
  if (!std::is_constant_evaluated()) {
    if constexpr (sizeof(T) == 4)
      return __builtin_sqrtf(x);
    else
      return __builtin_sqrt(x);
  }
  if (x < 0 || is_nan(static_cast<double>(x))) return static_cast<T>(__builtin_nan(""));
  if (x == 0 || x > (std::numeric_limits<T>::max)()) return x;
  return static_cast<T>(sqrt_digits(static_cast<double>(x), mantissa_bits));
}

/// Rounds to an integer, ties to even, by adding and subtracting a number whose spacing is 1.
template <class T>
constexpr T round(T x, T limit) {
  if (!(x < limit && x > -limit)) return x;  // already an integer, infinite or NaN
  if (x == 0) return x;
  T const magnitude = x < 0 ? -x : x;
  T const rounded = (magnitude + limit) - limit;
  return x < 0 ? -rounded : rounded;
}

template <class T>
constexpr T floor(T x, T limit) {
  T const nearest = round(x, limit);
  if (nearest <= x || is_nan(static_cast<double>(x))) return nearest;
  return nearest - 1;
}

}  // namespace detail

/// Computes the correctly rounded square root; NaN below zero, -0 of -0.
constexpr float sqrt(float x) { return detail::sqrt(x, 23); }
constexpr double sqrt(double x) { return detail::sqrt(x, 52); }
template <class T>
constexpr Real<T> sqrt(Real<T> x) {
  return {sqrt(x.value)};
}

/// Rounds to the nearest integer value, ties to even; keeps the sign of zero.
constexpr float round(float x) { return detail::round(x, 0x1p23F); }
constexpr double round(double x) { return detail::round(x, 0x1p52); }
constexpr float floor(float x) { return detail::floor(x, 0x1p23F); }
constexpr double floor(double x) { return detail::floor(x, 0x1p52); }
constexpr float ceil(float x) { return -floor(-x); }
constexpr double ceil(double x) { return -floor(-x); }
constexpr float trunc(float x) { return x < 0 ? ceil(x) : floor(x); }
constexpr double trunc(double x) { return x < 0 ? ceil(x) : floor(x); }

// Defines the expanded rows of elementary.def.
#define TEGULA_EXPANDED(op, name, ...)                                       \
  constexpr float name(float x) { return name##_f32(Real<float>{x}).value; } \
  constexpr double name(double x) { return name##_f64(Real<double>{x}).value; }
#define TEGULA_EXPANDED_2(op, name, ...)                                                              \
  constexpr float name(float x, float y) { return name##_f32(Real<float>{x}, Real<float>{y}).value; } \
  constexpr double name(double x, double y) { return name##_f64(Real<double>{x}, Real<double>{y}).value; }
#include "tegula/math/elementary.def"

/// Clears the sign, of NaN too.
constexpr float abs(float x) { return std::bit_cast<float>(std::bit_cast<std::uint32_t>(x) & 0x7FFFFFFFU); }
constexpr double abs(double x) { return std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) & 0x7FFFFFFFFFFFFFFFU); }

/// Give the minimum and the maximum; of a NaN and a number the number.
template <class T>
constexpr T(min)(T a, T b) {
  if (a != a) return b;
  return b < a ? b : a;
}
template <class T>
constexpr T(max)(T a, T b) {
  if (a != a) return b;
  return a < b ? b : a;
}

// Integer arithmetic wraps and never traps. T is an integer of 32 or 64 bits.

template <class T>
constexpr auto unsigned_of(T a) {
  return static_cast<std::make_unsigned_t<T>>(a);
}
template <class T>
constexpr bool is_minus_one(T a) {
  return std::is_signed_v<T> && a == static_cast<T>(-1);
}
template <class T>
constexpr T wrapping_add(T a, T b) {
  return static_cast<T>(unsigned_of(a) + unsigned_of(b));
}
template <class T>
constexpr T wrapping_sub(T a, T b) {
  return static_cast<T>(unsigned_of(a) - unsigned_of(b));
}
template <class T>
constexpr T wrapping_mul(T a, T b) {
  return static_cast<T>(unsigned_of(a) * unsigned_of(b));
}
/// Truncates toward zero; x / 0 is 0, the minimum value / -1 wraps.
template <class T>
constexpr T div(T a, T b) {
  if (b == 0) return 0;
  return is_minus_one(b) ? wrapping_sub(T{0}, a) : static_cast<T>(a / b);
}
/// Has the sign of a; x % 0 is x.
template <class T>
constexpr T rem(T a, T b) {
  if (b == 0) return a;
  return is_minus_one(b) ? T{0} : static_cast<T>(a % b);
}
/// Rounds up, for a >= 0 and b > 0; 0 when b <= 0. For negative a this is div(a, b).
template <class T>
constexpr T ceil_div(T a, T b) {
  if (b <= 0) return 0;
  return static_cast<T>(a / b + (a % b > 0 ? 1 : 0));
}
/// Shifts left; amounts outside 0..bits-1 give 0.
template <class T>
constexpr T shift_left(T a, T amount) {
  constexpr T bits = sizeof(T) * 8;
  return amount < 0 || amount >= bits ? T{0} : static_cast<T>(unsigned_of(a) << amount);
}
/// Shifts right, signed integers arithmetically: their amounts outside 0..bits-1 act as bits-1. Unsigned ones become 0.
template <class T>
constexpr T shift_right(T a, T amount) {
  constexpr T bits = sizeof(T) * 8;
  bool const outside = amount < 0 || amount >= bits;
  return outside && std::is_unsigned_v<T> ? T{0} : static_cast<T>(a >> (outside ? bits - 1 : amount));
}

// Conversions follow CastOp's.

/// Truncates, saturates, NaN gives 0.
template <class To, class From>
constexpr To float_to_int(From x) {
  constexpr From limit = static_cast<From>(std::uint64_t{1} << (std::numeric_limits<To>::digits - 1)) * 2;
  if (x != x) return 0;
  if (x >= limit) return (std::numeric_limits<To>::max)();
  if (x < (std::is_signed_v<To> ? -limit : From(0))) return (std::numeric_limits<To>::min)();
  return static_cast<To>(x);
}

/// Returns the value of a narrow float's bits; 0 for other elements.
constexpr float narrow_value(Element element, std::uint16_t bits) {
  return visit_element(element, [&]<Element at>() -> float {
    if constexpr (is_narrow_float(at)) return narrow_to_f32<at>(Bits<std::int32_t>{bits}).value;
    return 0;
  });
}

/// Returns a number with a sign that rounds to any narrow float as it does itself: f32 stay, others are rounded to odd.
constexpr float to_f32_odd(float x) { return x; }
constexpr float to_f32_odd(double x) { return f64_to_f32_odd(Real<double>{x}).value; }
constexpr float to_f32_odd(std::int64_t x) {
  return to_f32_odd(static_cast<double>(shorten_i64(Bits<std::int64_t>{x}).value));
}
constexpr float to_f32_odd(std::int32_t x) { return to_f32_odd(static_cast<double>(x)); }
constexpr float to_f32_odd(std::uint32_t x) { return to_f32_odd(static_cast<double>(x)); }
constexpr float to_f32_odd(std::uint64_t x) {
  std::uint64_t const top = x >> 63;  // then half of x, with its last bit kept in sight
  return to_f32_odd(static_cast<std::int64_t>(x >> top | (x & top))) * (top == 0 ? 1.0F : 2.0F);
}

/// Returns the bits of the narrow float nearest to a number, rounded once; 0 for other elements.
template <class T>
constexpr std::uint16_t narrow_bits(Element element, T number) {
  Real<float> const x{to_f32_odd(number)};
  return visit_element(element, [&]<Element at>() -> std::uint16_t {
    if constexpr (is_narrow_float(at)) return static_cast<std::uint16_t>(f32_to_narrow<at>(x).value);
    return 0;
  });
}

}  // namespace tegula::math
