// The C++ types of elements: the 16-bit floats, and which IR element a C++ type stands for.
#pragma once

#include <cstdint>

#include "tegula/support/element.hpp"
#include "tegula/support/half.hpp"

namespace tegula {

/// IEEE binary16 as stored in memory. Conversions from wider floats round once to nearest even; conversion to float is
/// exact. It stores, it does not compute: arithmetic on the host goes through float or host<f16>.
class f16 {
 public:
  f16() = default;
  constexpr explicit f16(double value) : bits_(f16_bits(value)) {}
  static constexpr f16 from_bits(std::uint16_t bits) {
    f16 result(0.0);
    result.bits_ = bits;
    return result;
  }
  [[nodiscard]] constexpr std::uint16_t bits() const { return bits_; }
  constexpr explicit operator float() const { return static_cast<float>(f16_value(bits_)); }
  constexpr explicit operator double() const { return f16_value(bits_); }
  friend constexpr bool operator==(f16 a, f16 b) { return f16_value(a.bits_) == f16_value(b.bits_); }

 private:
  std::uint16_t bits_;
};

/// bfloat16: the upper half of a binary32. The same rules as for f16.
class bf16 {
 public:
  bf16() = default;
  constexpr explicit bf16(double value) : bits_(bf16_bits(value)) {}
  static constexpr bf16 from_bits(std::uint16_t bits) {
    bf16 result(0.0);
    result.bits_ = bits;
    return result;
  }
  [[nodiscard]] constexpr std::uint16_t bits() const { return bits_; }
  constexpr explicit operator float() const { return static_cast<float>(bf16_value(bits_)); }
  constexpr explicit operator double() const { return bf16_value(bits_); }
  friend constexpr bool operator==(bf16 a, bf16 b) { return bf16_value(a.bits_) == bf16_value(b.bits_); }

 private:
  std::uint16_t bits_;
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2);

/// The IR element of a C++ type: `element_of<float>::value == Element::f32`. Defined for the seven element types only.
template <class T>
struct element_of;
template <>
struct element_of<bool> {
  static constexpr Element value = Element::boolean;
};
template <>
struct element_of<std::int32_t> {
  static constexpr Element value = Element::i32;
};
template <>
struct element_of<std::int64_t> {
  static constexpr Element value = Element::i64;
};
template <>
struct element_of<f16> {
  static constexpr Element value = Element::f16;
};
template <>
struct element_of<bf16> {
  static constexpr Element value = Element::bf16;
};
template <>
struct element_of<float> {
  static constexpr Element value = Element::f32;
};
template <>
struct element_of<double> {
  static constexpr Element value = Element::f64;
};

/// True for bool, std::int32_t, std::int64_t, f16, bf16, float and double.
template <class T>
concept ElementType = requires {
  element_of<T>::value;
};

template <ElementType T>
inline constexpr Element element_v = element_of<T>::value;

}  // namespace tegula
