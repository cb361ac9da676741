// Lists the elements of tiles, tensors and scalars: one table of their names, sizes, registers, codes and ranges.
#pragma once

#include <cstdint>
#include <string_view>

namespace tegula {

/// Names the element of a tile, tensor or scalar argument.
enum class Element : std::uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, e4m3, e5m2, f16, bf16, f32, f64 };

enum class ElementKind : std::uint8_t {
  boolean,  ///< neither float nor integer
  signed_integer,
  unsigned_integer,
  floating,
};

/// Says how arithmetic on tiles of an element is done.
enum class Arithmetic : std::uint8_t {
  none,    ///< stored, moved, selected and converted; some are multiplied by dot
  in_f32,  ///< computed in f32 and rounded
  native,
};

/// Names the registers that hold an element: integers of a width, or floats that a target computes with.
enum class RegisterClass : std::uint8_t { b1, b8, b16, b32, b64, f16, f32, f64 };

/// Names the elements of tensor maps; the numbers are those of the driver's CUtensorMapDataType.
enum class TensorMapType : std::uint8_t {
  uint8,
  uint16,
  uint32,
  int32,
  uint64,
  int64,
  float16,
  float32,
  float64,
  bfloat16
};

/// Names the elements of DLPack; the numbers are those of its DLDataTypeCode.
enum class DlpackCode : std::uint8_t {
  integer = 0,
  natural = 1,
  floating = 2,
  bfloat = 4,
  boolean = 6,
  e4m3 = 10,
  e5m2 = 12,
};

/// Says how a float ends: the result of a conversion of a greater number, and the meaning of its uppermost exponent.
enum class Overflow : std::uint8_t {
  infinity,    ///< conversions give infinities
  saturated,   ///< conversions give the maximum; infinities come from bits alone
  only_a_nan,  ///< as saturated, without infinities: one code is not a number
};

struct ElementInfo {
  Element element;
  std::string_view name;      ///< the spelling in IR text and messages
  std::string_view cpp_name;  ///< the spelling of the type in C++ outside namespace tegula
  int bits;                   ///< value bits; a boolean has 1 and takes one byte in memory
  ElementKind kind;
  Arithmetic arithmetic;
  RegisterClass host;    ///< the registers of code for hosts (codegen/lowering.hpp)
  RegisterClass gpu;     ///< the registers of code for GPUs (codegen/nvptx/emitter.hpp)
  std::string_view ptx;  ///< the type of instructions in PTX
  TensorMapType tensor_map;
  DlpackCode dlpack;
  int mantissa = 0;                        ///< explicit fraction bits of a float
  double max = 0;                          ///< the maximum of a float
  Overflow overflow = Overflow::infinity;  ///< of a float
};

namespace detail {

struct ElementRows {
  using E = Element;
  using K = ElementKind;
  using A = Arithmetic;
  using R = RegisterClass;
  using M = TensorMapType;
  using D = DlpackCode;
  static constexpr ElementInfo rows[] = {
      {E::boolean, "bool", "bool", 1, K::boolean, A::none, R::b1, R::b1, "pred", M::uint8, D::boolean},
      {E::i8, "i8", "std::int8_t", 8, K::signed_integer, A::none, R::b32, R::b8, "s8", M::uint8, D::integer},
      {E::u8, "u8", "std::uint8_t", 8, K::unsigned_integer, A::none, R::b32, R::b8, "u8", M::uint8, D::natural},
      {E::i16, "i16", "std::int16_t", 16, K::signed_integer, A::none, R::b32, R::b16, "s16", M::uint16, D::integer},
      {E::u16, "u16", "std::uint16_t", 16, K::unsigned_integer, A::none, R::b32, R::b16, "u16", M::uint16, D::natural},
      {E::i32, "i32", "std::int32_t", 32, K::signed_integer, A::native, R::b32, R::b32, "s32", M::int32, D::integer},
      {E::u32, "u32", "std::uint32_t", 32, K::unsigned_integer, A::native, R::b32, R::b32, "u32", M::uint32,
       D::natural},
      {E::i64, "i64", "std::int64_t", 64, K::signed_integer, A::native, R::b64, R::b64, "s64", M::int64, D::integer},
      {E::u64, "u64", "std::uint64_t", 64, K::unsigned_integer, A::native, R::b64, R::b64, "u64", M::uint64,
       D::natural},
      {E::e4m3, "e4m3", "tegula::e4m3", 8, K::floating, A::none, R::b32, R::b8, "e4m3", M::uint8, D::e4m3, 3, 448,
       Overflow::only_a_nan},
      {E::e5m2, "e5m2", "tegula::e5m2", 8, K::floating, A::none, R::b32, R::b8, "e5m2", M::uint8, D::e5m2, 2, 57344,
       Overflow::saturated},
      {E::f16, "f16", "tegula::f16", 16, K::floating, A::in_f32, R::f32, R::f16, "f16", M::float16, D::floating, 10,
       65504},
      {E::bf16, "bf16", "tegula::bf16", 16, K::floating, A::in_f32, R::f32, R::b16, "bf16", M::bfloat16, D::bfloat, 7,
       0x1.fep127},
      {E::f32, "f32", "float", 32, K::floating, A::native, R::f32, R::f32, "f32", M::float32, D::floating, 23,
       0x1.fffffep127},
      {E::f64, "f64", "double", 64, K::floating, A::native, R::f64, R::f64, "f64", M::float64, D::floating, 52,
       0x1.fffffffffffffp1023},
  };
};

}  // namespace detail

inline constexpr auto& element_table = detail::ElementRows::rows;
inline constexpr int element_count = sizeof element_table / sizeof element_table[0];

constexpr ElementInfo const& info(Element element) { return element_table[static_cast<int>(element)]; }
constexpr std::string_view name(Element element) { return info(element).name; }
constexpr int bits(Element element) { return info(element).bits; }
/// Returns the bytes of one element in global memory (a boolean takes 1).
constexpr int bytes(Element element) { return (info(element).bits + 7) / 8; }
constexpr bool is_float(Element element) { return info(element).kind == ElementKind::floating; }
constexpr bool is_signed(Element element) { return info(element).kind == ElementKind::signed_integer; }
constexpr bool is_integer(Element element) {
  return is_signed(element) || info(element).kind == ElementKind::unsigned_integer;
}
constexpr bool is_arithmetic(Element element) { return info(element).arithmetic != Arithmetic::none; }
/// True for integers that are stored and not computed with.
constexpr bool is_narrow_integer(Element element) { return is_integer(element) && !is_arithmetic(element); }
/// True for unsigned integers that are computed with.
constexpr bool is_wide_unsigned(Element element) {
  return is_integer(element) && !is_signed(element) && is_arithmetic(element);
}
/// Returns the number that the lowest bits of a value mean in an integer element; of u64 the bits.
constexpr std::int64_t wrapped(Element element, std::int64_t value) {
  int const spare = 64 - bits(element);
  std::uint64_t const high = static_cast<std::uint64_t>(value) << spare;
  return is_signed(element) ? static_cast<std::int64_t>(high) >> spare : static_cast<std::int64_t>(high >> spare);
}
constexpr std::int64_t min_integer(Element element) {
  return is_signed(element) ? -1 - static_cast<std::int64_t>((std::uint64_t{1} << (bits(element) - 1)) - 1) : 0;
}
/// Returns the maximum of an integer element; of u64 the bits.
constexpr std::int64_t max_integer(Element element) {
  return static_cast<std::int64_t>(~std::uint64_t{0} >> (64 - bits(element) + (is_signed(element) ? 1 : 0)));
}
/// True for floats of less than 32 bits: arithmetic on them is done in f32.
constexpr bool is_narrow_float(Element element) { return is_float(element) && bits(element) < 32; }
constexpr bool is_f8(Element element) { return is_float(element) && bits(element) == 8; }
/// Counts the bits of a float's exponent.
constexpr int exponent_bits(Element element) { return bits(element) - 1 - info(element).mantissa; }
/// Returns the power of 2 that is the smallest positive number of a float.
constexpr int min_exponent(Element element) { return 2 - (1 << (exponent_bits(element) - 1)) - info(element).mantissa; }
/// True for integers of 8 bits, which tensor cores multiply.
constexpr bool is_i8_or_u8(Element element) { return is_integer(element) && bits(element) == 8; }
/// True for elements that a product multiplies.
constexpr bool is_multiplied(Element element) { return is_float(element) || is_i8_or_u8(element); }
/// Tells whether a product multiplies these two: equal ones, floats of 8 bits and integers of 8 bits with each other.
constexpr bool multiply_together(Element a, Element b) {
  return is_multiplied(a) && (a == b || (is_f8(a) && is_f8(b)) || (is_i8_or_u8(a) && is_i8_or_u8(b)));
}
/// Returns the element in which products of this one are summed.
constexpr Element dot_accumulator(Element element) {
  if (is_integer(element)) return Element::i32;
  return element == Element::f64 ? Element::f64 : Element::f32;
}

/// Returns what `visit` returns, called with the element as its template argument: visit.template
/// operator()<element>().
template <int number = 0, class Visit>
constexpr auto visit_element(Element element, Visit const& visit) {
  constexpr Element at = element_table[number].element;
  if constexpr (number + 1 < element_count) {
    if (element != at) return visit_element<number + 1>(element, visit);
  }
  return visit.template operator()<at>();
}

}  // namespace tegula
