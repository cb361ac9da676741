// Defines the C++ types of elements: the floats of 8 and 16 bits, and the IR element of each C++ type.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tegula/support/element.hpp"
#include "tegula/support/half.hpp"

namespace tegula {

namespace detail {

/// Gives the narrow floats their bits and their conversions.
template <class Derived, Element element>
class StoredFloat {
  using Bits = std::conditional_t<bytes(element) == 1, std::uint8_t, std::uint16_t>;

 public:
  StoredFloat() = default;
  constexpr explicit StoredFloat(double value) : bits_(static_cast<Bits>(float_bits<element>(value))) {}
  static constexpr Derived from_bits(Bits bits) {
    Derived result(0.0);
    result.bits_ = bits;
    return result;
  }
  [[nodiscard]] constexpr Bits bits() const { return bits_; }
  constexpr explicit operator float() const { return static_cast<float>(float_value<element>(bits_)); }
  constexpr explicit operator double() const { return float_value<element>(bits_); }
  friend constexpr bool operator==(Derived a, Derived b) {
    return float_value<element>(a.bits()) == float_value<element>(b.bits());
  }

 private:
  Bits bits_;
};

}  // namespace detail

/// Stores an IEEE binary16 as in memory. Conversions from wider floats round once to nearest even; conversion to float
/// is exact. It stores and does not compute: arithmetic on the host goes through float or host<f16>.
class f16 : public detail::StoredFloat<f16, Element::f16> {
 public:
  using StoredFloat::StoredFloat;
};

/// Stores a bfloat16: the upper half of a binary32. The rules of f16 apply.
class bf16 : public detail::StoredFloat<bf16, Element::bf16> {
 public:
  using StoredFloat::StoredFloat;
};

/// Stores a float of 8 bits with 4 of exponent and 3 of fraction, to 448, without infinities. The rules of f16 apply,
/// with two exceptions:
/// - values beyond the maximum become the maximum, infinities too,
/// - kernels only store, move, cast and multiply it (dot).
class e4m3 : public detail::StoredFloat<e4m3, Element::e4m3> {
 public:
  using StoredFloat::StoredFloat;
};

/// Stores a float of 8 bits with 5 of exponent and 2 of fraction, to 57344. The rules of e4m3 apply; its infinities
/// come from bits alone.
class e5m2 : public detail::StoredFloat<e5m2, Element::e5m2> {
 public:
  using StoredFloat::StoredFloat;
};

static_assert(sizeof(f16) == 2 && sizeof(bf16) == 2 && sizeof(e4m3) == 1 && sizeof(e5m2) == 1);

/// Finds the IR element of a C++ type: `element_of<float>::value == Element::f32`. Defined for the element types only.
template <class T>
struct element_of;
template <>
struct element_of<bool> {
  static constexpr Element value = Element::boolean;
};
template <>
struct element_of<std::int8_t> {
  static constexpr Element value = Element::i8;
};
template <>
struct element_of<std::uint8_t> {
  static constexpr Element value = Element::u8;
};
template <>
struct element_of<std::int16_t> {
  static constexpr Element value = Element::i16;
};
template <>
struct element_of<std::uint16_t> {
  static constexpr Element value = Element::u16;
};
template <>
struct element_of<std::int32_t> {
  static constexpr Element value = Element::i32;
};
template <>
struct element_of<std::uint32_t> {
  static constexpr Element value = Element::u32;
};
template <>
struct element_of<std::int64_t> {
  static constexpr Element value = Element::i64;
};
template <>
struct element_of<std::uint64_t> {
  static constexpr Element value = Element::u64;
};
template <>
struct element_of<e4m3> {
  static constexpr Element value = Element::e4m3;
};
template <>
struct element_of<e5m2> {
  static constexpr Element value = Element::e5m2;
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

/// True for bool, the integers std::int8_t, int16_t, int32_t, int64_t, uint8_t, uint16_t, uint32_t and uint64_t, and
/// the floats e4m3, e5m2, f16, bf16, float and double.
template <class T>
concept ElementType = requires {
  element_of<T>::value;
};

template <ElementType T>
inline constexpr Element element_v = element_of<T>::value;

}  // namespace tegula
