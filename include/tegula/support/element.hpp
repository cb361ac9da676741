// Lists the element kinds of tiles, tensors and scalars: one table of spelling, size and class.
#pragma once

#include <cstdint>
#include <string_view>

namespace tegula {

/// Names the element of a tile, tensor or scalar argument.
enum class Element : std::uint8_t { boolean, i8, i32, i64, e4m3, e5m2, f16, bf16, f32, f64 };

inline constexpr int element_count = 10;

enum class ElementKind : std::uint8_t {
  boolean,  ///< neither float nor integer
  signed_integer,
  floating,
};

/// Says how arithmetic on tiles of an element is done.
enum class Arithmetic : std::uint8_t {
  none,    ///< stored, moved, selected, converted, and multiplied by dot
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
    {Element::i32, "i32", 32, ElementKind::signed_integer, Arithmetic::native},
    {Element::i64, "i64", 64, ElementKind::signed_integer, Arithmetic::native},
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
/// Gives the bytes of one element in global memory (a boolean takes 1).
constexpr int bytes(Element element) { return (info(element).bits + 7) / 8; }
constexpr bool is_float(Element element) { return info(element).kind == ElementKind::floating; }
constexpr bool is_integer(Element element) { return info(element).kind == ElementKind::signed_integer; }
constexpr bool is_arithmetic(Element element) { return info(element).arithmetic != Arithmetic::none; }
/// True for floats of less than 32 bits: arithmetic on them is done in f32.
constexpr bool is_narrow_float(Element element) { return is_float(element) && bits(element) < 32; }
constexpr bool is_f8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }
/// Gives the element in which products of this one are summed.
constexpr Element dot_accumulator(Element element) {
  if (is_integer(element)) return Element::i32;
  return element == Element::f64 ? Element::f64 : Element::f32;
}

}  // namespace tegula
