// Defines the scalar values on which the expansions of elementary.hpp and convert.hpp run at compile time, in host<T>
// and in the simulator. The expansions are templates over any pair of value types with the functions below. The pass
// expand-math runs the same text with values that build IR.
//
// A value type F (a float) and its integer I of the same width have, found by argument-dependent lookup:
//   F: a + b, a - b, a * b, a / b, sqrt(a) (each rounded once), a < b, a == b (ordered), a != b (unordered)
//   multiply_add(a, b, c): a * b + c, both rounded; GPUs round f32 once
//   I: a + b, a - b (wrapping), a & b, a | b, a < b, a == b;  shl<n>(a), shr<n>(a) (arithmetic)
//   to_bits(F) -> I, from_bits(I) -> F, like(x, c): the constant c as a value of x's type, and select(condition, a, b)
//   both F: narrow(f64) -> f32 and widen(f32) -> f64, converted as CastOp does
#pragma once

#include <bit>
#include <cstdint>
#include <type_traits>

namespace tegula::math {

namespace detail {

/// Computes a product in a separate step. A compiler may fuse a product into a following sum (GCC does, wherever the
/// target has the instruction). This prevents it, since every executor rounds product and sum apart.
template <class T>
constexpr T rounded(T product) {
#if defined(__FMA__) || defined(__FMA4__)
  if (!std::is_constant_evaluated()) asm("" : "+x"(product));
#elif defined(__aarch64__)
  if (!std::is_constant_evaluated()) asm("" : "+w"(product));
#endif
  return product;
}

/// Computes a product in a constant expression, where compilers refuse overflow.
template <class T>
constexpr T constant_product(T a, T b) {
  constexpr bool narrow = sizeof(T) == 4;
  T const magnitude = a < 0 ? -a : a;
  if (magnitude > 1) {
    T const scaled = (a * static_cast<T>(narrow ? 0x1p-80 : 0x1p-600)) * b;
    T const limit = static_cast<T>(narrow ? 0x1p48 : 0x1p424);
    if (scaled >= limit) return static_cast<T>(__builtin_inf());
    if (scaled <= -limit) return -static_cast<T>(__builtin_inf());
  }
  return a * b;
}

}  // namespace detail

/// Holds an integer of 32 or 64 bits whose arithmetic wraps.
template <class T>
struct Bits {
  static_assert(std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>);
  using Unsigned = std::make_unsigned_t<T>;
  T value = 0;

  static constexpr Bits wrap(Unsigned bits) { return {static_cast<T>(bits)}; }
  [[nodiscard]] constexpr Unsigned bits() const { return static_cast<Unsigned>(value); }

  friend constexpr Bits operator+(Bits a, Bits b) { return wrap(a.bits() + b.bits()); }
  friend constexpr Bits operator-(Bits a, Bits b) { return wrap(a.bits() - b.bits()); }
  friend constexpr Bits operator&(Bits a, Bits b) { return {a.value & b.value}; }
  friend constexpr Bits operator|(Bits a, Bits b) { return {a.value | b.value}; }
  friend constexpr bool operator<(Bits a, Bits b) { return a.value < b.value; }
  friend constexpr bool operator==(Bits a, Bits b) { return a.value == b.value; }
};

/// Holds a float or double, each operation rounded by itself.
template <class T>
struct Real {
  static_assert(std::is_same_v<T, float> || std::is_same_v<T, double>);
  T value = 0;

  friend constexpr Real operator+(Real a, Real b) { return either_nan(a, b) ? nan_of(a, b) : Real{a.value + b.value}; }
  friend constexpr Real operator-(Real a, Real b) { return either_nan(a, b) ? nan_of(a, b) : Real{a.value - b.value}; }
  friend constexpr Real operator/(Real a, Real b) {
    if (std::is_constant_evaluated() && b.value == 0) return over_zero(a, b);
    return either_nan(a, b) ? nan_of(a, b) : Real{a.value / b.value};
  }
  friend constexpr Real operator*(Real a, Real b) {
    if (!std::is_constant_evaluated()) return {detail::rounded(a.value * b.value)};
    return either_nan(a, b) ? nan_of(a, b) : Real{detail::constant_product(a.value, b.value)};
  }
  friend constexpr bool operator<(Real a, Real b) { return a.value < b.value; }
  friend constexpr bool operator==(Real a, Real b) { return a.value == b.value; }
  friend constexpr bool operator!=(Real a, Real b) { return a.value != b.value; }

 private:
  /// Finds a NaN operand, in constant expressions only, where compilers refuse arithmetic that gives NaN.
  static constexpr bool either_nan(Real a, Real b) {
    return std::is_constant_evaluated() && (a.value != a.value || b.value != b.value);
  }
  static constexpr Real nan_of(Real a, Real b) { return a.value != a.value ? a : b; }
  /// Divides by zero, which compilers refuse.
  static constexpr Real over_zero(Real a, Real b) {
    if (a.value == 0) return {static_cast<T>(__builtin_nan(""))};
    if (a.value != a.value) return a;
    bool const negative = std::bit_cast<std::conditional_t<sizeof(T) == 4, std::int32_t, std::int64_t>>(b.value) < 0;
    return {static_cast<T>((a.value < 0) == negative ? __builtin_inf() : -__builtin_inf())};
  }
};

template <class T>
constexpr Real<T> multiply_add(Real<T> a, Real<T> b, Real<T> c) {
  Real<T> const product = a * b;
  return product + c;
}

template <int amount, class T>
constexpr Bits<T> shl(Bits<T> a) {
  return Bits<T>::wrap(a.bits() << amount);
}
template <int amount, class T>
constexpr Bits<T> shr(Bits<T> a) {
  return {a.value >> amount};
}

constexpr Bits<std::int32_t> to_bits(Real<float> x) { return {std::bit_cast<std::int32_t>(x.value)}; }
constexpr Bits<std::int64_t> to_bits(Real<double> x) { return {std::bit_cast<std::int64_t>(x.value)}; }
constexpr Real<float> from_bits(Bits<std::int32_t> x) { return {std::bit_cast<float>(x.value)}; }
constexpr Real<double> from_bits(Bits<std::int64_t> x) { return {std::bit_cast<double>(x.value)}; }

constexpr Real<float> narrow(Real<double> x) {
  if (x.value >= 0x1.ffffffp127)
    return {static_cast<float>(__builtin_inf())};  // else undefined in constant expressions
  if (x.value <= -0x1.ffffffp127) return {-static_cast<float>(__builtin_inf())};
  return {static_cast<float>(x.value)};
}
constexpr Real<double> widen(Real<float> x) { return {static_cast<double>(x.value)}; }

template <class T>
constexpr Real<T> like(Real<T>, double constant) {
  return {static_cast<T>(constant)};
}
template <class T>
constexpr Bits<T> like(Bits<T>, std::int64_t constant) {
  return {static_cast<T>(constant)};
}

template <class T>
constexpr Bits<T> select(bool condition, Bits<T> a, Bits<T> b) {
  return condition ? a : b;
}
template <class T>
constexpr Real<T> select(bool condition, Real<T> a, Real<T> b) {
  return condition ? a : b;
}

}  // namespace tegula::math
