// Lists the element kinds of tiles, tensors and scalars: one table of spelling, size and class.
#pragma once

#include <cstdint>
#include <string_view>

namespace tegula {

/// Names the element of a tile, tensor or scalar argument.
enum class Element : std::uint8_t { boolean, i8, u8, i16, u16, i32, u32, i64, u64, e4m3, e5m2, f16, bf16, f32, f64 };

inline constexpr int element_count = 15;

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

struct ElementInfo {
  Element element;
  std::string_view name;  ///< the spelling in IR text and messages
  int bits;               ///< value bits; a boolean has 1 and takes one byte in memory
  ElementKind kind;
  Arithmetic arithmetic;
  int mantissa = 0;  ///< explicit fraction bits of a float
};

inline constexpr ElementInfo element_table[element_count] = {
    {Element::boolean, "bool", 1, ElementKind::boolean, Arithmetic::none},
    {Element::i8, "i8", 8, ElementKind::signed_integer, Arithmetic::none},
    {Element::u8, "u8", 8, ElementKind::unsigned_integer, Arithmetic::none},
    {Element::i16, "i16", 16, ElementKind::signed_integer, Arithmetic::none},
    {Element::u16, "u16", 16, ElementKind::unsigned_integer, Arithmetic::none},
    {Element::i32, "i32", 32, ElementKind::signed_integer, Arithmetic::native},
    {Element::u32, "u32", 32, ElementKind::unsigned_integer, Arithmetic::native},
    {Element::i64, "i64", 64, ElementKind::signed_integer, Arithmetic::native},
    {Element::u64, "u64", 64, ElementKind::unsigned_integer, Arithmetic::native},
    {Element::e4m3, "e4m3", 8, ElementKind::floating, Arithmetic::none, 3},
    {Element::e5m2, "e5m2", 8, ElementKind::floating, Arithmetic::none, 2},
    {Element::f16, "f16", 16, ElementKind::floating, Arithmetic::in_f32, 10},
    {Element::bf16, "bf16", 16, ElementKind::floating, Arithmetic::in_f32, 7},
    {Element::f32, "f32", 32, ElementKind::floating, Arithmetic::native, 23},
    {Element::f64, "f64", 64, ElementKind::floating, Arithmetic::native, 52},
};

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
constexpr bool is_f8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }
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

}  // namespace tegula
