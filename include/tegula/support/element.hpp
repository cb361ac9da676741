// The element kinds of tiles, tensors and scalars: one table of spelling, size and class.
#pragma once

#include <cstdint>
#include <string_view>

namespace tegula {

/// What one element of a tile, tensor or scalar argument is.
enum class Element : std::uint8_t { boolean, i8, i32, i64, e4m3, e5m2, f16, bf16, f32, f64 };

inline constexpr int element_count = 10;

struct ElementInfo {
  Element element;
  std::string_view name;  ///< the spelling in IR text and messages
  int bits;               ///< value bits; a boolean has 1 and takes one byte in memory
  bool is_float;
  bool is_integer;  ///< a boolean is neither float nor integer
  int mantissa;     ///< explicit fraction bits of a float, else 0
};

inline constexpr ElementInfo element_table[element_count] = {
    {Element::boolean, "bool", 1, false, false, 0}, {Element::i8, "i8", 8, false, true, 0},
    {Element::i32, "i32", 32, false, true, 0},      {Element::i64, "i64", 64, false, true, 0},
    {Element::e4m3, "e4m3", 8, true, false, 3},     {Element::e5m2, "e5m2", 8, true, false, 2},
    {Element::f16, "f16", 16, true, false, 10},     {Element::bf16, "bf16", 16, true, false, 7},
    {Element::f32, "f32", 32, true, false, 23},     {Element::f64, "f64", 64, true, false, 52},
};

constexpr ElementInfo const& info(Element element) { return element_table[static_cast<int>(element)]; }
constexpr std::string_view name(Element element) { return info(element).name; }
constexpr int bits(Element element) { return info(element).bits; }
/// Bytes of one element in global memory (a boolean takes 1).
constexpr int bytes(Element element) { return (info(element).bits + 7) / 8; }
constexpr bool is_float(Element element) { return info(element).is_float; }
constexpr bool is_integer(Element element) { return info(element).is_integer; }
/// Whether there is arithmetic of it. Elements of 8 bits are stored, moved, selected, converted and multiplied by dot;
/// a boolean is no number.
constexpr bool is_arithmetic(Element element) { return info(element).bits > 8; }
/// Floats that are computed in f32 and rounded.
constexpr bool is_narrow_float(Element element) { return info(element).is_float && info(element).bits < 32; }
constexpr bool is_f8(Element element) { return element == Element::e4m3 || element == Element::e5m2; }
/// What a product of these elements is summed up in.
constexpr Element dot_accumulator(Element element) {
  if (is_integer(element)) return Element::i32;
  return element == Element::f64 ? Element::f64 : Element::f32;
}

}  // namespace tegula
