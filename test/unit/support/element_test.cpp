// Checks that every row of the table of elements says what its element is, and that its columns agree.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <set>
#include <string>

#include "support/catch.hpp"
#include "support/float_range.hpp"

using namespace tegula;

namespace {

using R = RegisterClass;
using M = TensorMapType;
using D = DlpackCode;

/// Holds facts of an element that its other columns do not say.
struct Expected {
  Element element;
  char const* cpp_name;
  R host, gpu;
  char const* ptx;
  M tensor_map;
  D dlpack;
};
constexpr Expected expectations[] = {
    {Element::boolean, "bool", R::b1, R::b1, "pred", M::uint8, D::boolean},
    {Element::i8, "std::int8_t", R::b32, R::b8, "s8", M::uint8, D::integer},
    {Element::u8, "std::uint8_t", R::b32, R::b8, "u8", M::uint8, D::natural},
    {Element::i16, "std::int16_t", R::b32, R::b16, "s16", M::uint16, D::integer},
    {Element::u16, "std::uint16_t", R::b32, R::b16, "u16", M::uint16, D::natural},
    {Element::i32, "std::int32_t", R::b32, R::b32, "s32", M::int32, D::integer},
    {Element::u32, "std::uint32_t", R::b32, R::b32, "u32", M::uint32, D::natural},
    {Element::i64, "std::int64_t", R::b64, R::b64, "s64", M::int64, D::integer},
    {Element::u64, "std::uint64_t", R::b64, R::b64, "u64", M::uint64, D::natural},
    {Element::e4m3, "tegula::e4m3", R::b32, R::b8, "e4m3", M::uint8, D::e4m3},
    {Element::e5m2, "tegula::e5m2", R::b32, R::b8, "e5m2", M::uint8, D::e5m2},
    {Element::f16, "tegula::f16", R::f32, R::f16, "f16", M::float16, D::floating},
    {Element::bf16, "tegula::bf16", R::f32, R::b16, "bf16", M::bfloat16, D::bfloat},
    {Element::f32, "float", R::f32, R::f32, "f32", M::float32, D::floating},
    {Element::f64, "double", R::f64, R::f64, "f64", M::float64, D::floating},
};

int bits_of(RegisterClass held) {
  constexpr int widths[] = {1, 8, 16, 32, 64, 16, 32, 64};
  return widths[static_cast<int>(held)];
}

bool is_float_register(RegisterClass held) { return held == R::f16 || held == R::f32 || held == R::f64; }

}  // namespace

TEST_CASE("each row of the elements stands at its element's number", "[element]") {
  REQUIRE(std::size(element_table) == std::size(expectations));
  std::set<std::string_view> names, types;
  for (int i = 0; i < element_count; ++i) {
    ElementInfo const& row = element_table[i];
    INFO(row.name);
    CHECK(static_cast<int>(row.element) == i);
    CHECK(&info(row.element) == &row);
    CHECK(visit_element(row.element, []<Element at>() { return at; }) == row.element);
    CHECK(names.insert(row.name).second);
    CHECK(types.insert(row.cpp_name).second);
    Expected const& expected = expectations[i];
    CHECK(row.element == expected.element);
    CHECK(row.cpp_name == expected.cpp_name);
    CHECK(row.host == expected.host);
    CHECK(row.gpu == expected.gpu);
    CHECK(row.ptx == expected.ptx);
    CHECK(row.tensor_map == expected.tensor_map);
    CHECK(row.dlpack == expected.dlpack);
  }
}

TEST_CASE("registers hold an element's bits, and floats with arithmetic in float registers", "[element]") {
  for (ElementInfo const& row : element_table) {
    INFO(row.name);
    CHECK(bits_of(row.gpu) == row.bits);
    CHECK(bits_of(row.host) == (row.bits == 1 ? 1 : std::max(row.bits, 32)));
    CHECK(is_float_register(row.host) == (row.kind == ElementKind::floating && row.arithmetic != Arithmetic::none));
    if (is_float_register(row.gpu)) CHECK(is_float_register(row.host));
  }
}

TEST_CASE("integers have the PTX type, the DLPack code and the range of their bits", "[element]") {
  for (ElementInfo const& row : element_table) {
    if (!is_integer(row.element)) continue;
    INFO(row.name);
    std::string const number = fmt::to_string(row.bits);
    bool const has_sign = is_signed(row.element);
    CHECK(row.name == (has_sign ? "i" : "u") + number);
    CHECK(row.ptx == (has_sign ? "s" : "u") + number);
    CHECK(row.cpp_name == std::string("std::") + (has_sign ? "int" : "uint") + number + "_t");
    CHECK(row.dlpack == (has_sign ? D::integer : D::natural));
    CHECK(wrapped(row.element, max_integer(row.element)) == max_integer(row.element));
    CHECK(wrapped(row.element, min_integer(row.element)) == min_integer(row.element));
    auto const next = static_cast<std::int64_t>(static_cast<std::uint64_t>(max_integer(row.element)) + 1);
    CHECK(wrapped(row.element, next) == min_integer(row.element));
  }
}

TEST_CASE("the columns of a float describe its bits", "[element]") {
  for (ElementInfo const& row : element_table) {
    if (!is_float(row.element)) {
      CHECK(row.mantissa == 0);
      CHECK(row.max == 0);
      continue;
    }
    INFO(row.name);
    Element const element = row.element;
    std::uint64_t const end = float_bits(element, row.max);
    CHECK(float_value(element, end) == row.max);
    double const beyond = float_value(element, end + 1);
    CHECK((row.overflow == Overflow::only_a_nan ? std::isnan(beyond) : std::isinf(beyond)));
    bool const saturates = row.overflow != Overflow::infinity;
    CHECK(float_value(element, float_bits(element, std::numeric_limits<double>::infinity())) ==
          (saturates ? row.max : std::numeric_limits<double>::infinity()));
    CHECK(float_value(element, 1) == std::ldexp(1.0, min_exponent(element)));
    CHECK(float_value(element, float_bits(element, 1.0)) == 1.0);
    CHECK(float_value(element, float_bits(element, 1.0) + 1) - 1 == std::ldexp(1.0, -row.mantissa));
    CHECK(std::isnan(float_value(element, float_bits(element, std::numeric_limits<double>::quiet_NaN()))));
    if (row.bits > 16) continue;
    for (std::uint64_t code = 0; code < std::uint64_t{1} << row.bits; ++code) {
      double const value = float_value(element, code);
      if (std::isfinite(value) && float_bits(element, value) != code) FAIL("code " << code << " is not read back");
    }
  }
}

TEST_CASE("a float's range ends halfway to the number after its maximum", "[element]") {
  struct Range {
    Element element;
    double max;
    long double beyond;
    bool halfway_fits;  ///< whether the halfway number is rounded to the maximum
  };
  for (Range const& range :
       {Range{Element::e4m3, 448, 464, true}, Range{Element::e5m2, 57344, 61440, false},
        Range{Element::f16, 65504, 65520, false}, Range{Element::bf16, 0x1.fep127, 0x1.ffp127L, false},
        Range{Element::f32, std::numeric_limits<float>::max(), 0x1.ffffffp127L, false},
        Range{Element::f64, std::numeric_limits<double>::max(), 0x1.fffffffffffff8p1023L, false}}) {
    INFO(name(range.element));
    support::FloatRange const found = support::float_range(range.element);
    CHECK(found.max == range.max);
    CHECK(found.beyond == range.beyond);
    CHECK(support::fits(range.element, -range.max));
    if (range.element == Element::f64) continue;
    CHECK(support::fits(range.element, static_cast<double>(range.beyond)) == range.halfway_fits);
    CHECK(!support::fits(range.element, static_cast<double>(range.beyond) * 1.001));
  }
}
