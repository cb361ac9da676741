#include "ir/text/literal_parser.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <limits>

#include "ir/core/builder.hpp"
#include "layout/layout_names.hpp"
#include "ir/text/text.hpp"
#include "support/float_range.hpp"
#include "support/string_buffer.hpp"

namespace tegula::ir {
namespace {

std::string shown(Token const& token) {
  switch (token.kind) {
    case TokenKind::end:
      return "the end of the text";
    case TokenKind::value:
      return "%" + token.text;
    case TokenKind::symbol:
      return "@" + token.text;
    case TokenKind::string:
      return "a string";
    case TokenKind::number:
    case TokenKind::identifier:
      return token.text;
    case TokenKind::punctuation:
      return "'" + token.text + "'";
    case TokenKind::error:
      return token.text;
  }
  return {};
}

}  // namespace

LiteralParser::LiteralParser(std::string_view source) : lexer_(source) { advance(); }

void LiteralParser::advance() { token_ = lexer_.next(); }

void LiteralParser::fail(std::string text) const { throw ParseFailure{token_.begin, std::move(text)}; }

void LiteralParser::fail_at(std::size_t offset, std::string text) const { throw ParseFailure{offset, std::move(text)}; }

void LiteralParser::expected(std::string const& wanted) const {
  fail(token_.kind == TokenKind::error ? token_.text : "expected " + wanted + ", found " + shown(token_));
}

void LiteralParser::expected_not_error(std::string const& wanted) const {
  fail("expected " + wanted + ", found " + shown(token_));
}

bool LiteralParser::at(std::string_view punctuation) const {
  return token_.kind == TokenKind::punctuation && token_.text == punctuation;
}

bool LiteralParser::at_word(std::string_view word) const {
  return token_.kind == TokenKind::identifier && token_.text == word;
}

bool LiteralParser::accept(std::string_view punctuation) {
  if (!at(punctuation)) return false;
  advance();
  return true;
}

bool LiteralParser::accept_word(std::string_view word) {
  if (!at_word(word)) return false;
  advance();
  return true;
}

void LiteralParser::expect(std::string_view punctuation) {
  if (!accept(punctuation)) expected("'" + std::string(punctuation) + "'");
}

void LiteralParser::expect_identifier(std::string_view word) {
  if (!accept_word(word)) expected(std::string(word));
}

std::string LiteralParser::take(TokenKind kind, std::string const& wanted) {
  if (token_.kind != kind) expected(wanted);
  std::string text = std::move(token_.text);
  advance();
  return text;
}

std::int64_t LiteralParser::integer() {
  std::size_t const begin = token_.begin;
  std::string const text = take(TokenKind::number, "an integer");
  return integer_of(text, begin);
}

std::int64_t LiteralParser::integer_of(std::string const& text, std::size_t begin) const {
  std::int64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) fail_at(begin, text + " does not fit 64 bits");
  if (error != std::errc() || end != text.data() + text.size()) fail_at(begin, "expected an integer, found " + text);
  return value;
}

std::uint64_t LiteralParser::natural_of(std::string const& text, std::size_t begin) const {
  std::uint64_t value = 0;
  auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range || text.starts_with("-")) fail_at(begin, text + " does not fit u64");
  if (error != std::errc() || end != text.data() + text.size()) fail_at(begin, "expected an integer, found " + text);
  return value;
}

static std::string all_elements() {
  std::string text;
  for (ElementInfo const& row : element_table) text += (text.empty() ? "" : ", ") + std::string(row.name);
  return text;
}

Element LiteralParser::element() {
  std::size_t const begin = token_.begin;
  std::string const text = take(TokenKind::identifier, "an element (" + all_elements() + ")");
  return element_named(text, begin);
}

Element LiteralParser::element_named(std::string const& text, std::size_t begin) const {
  for (ElementInfo const& row : element_table)
    if (row.name == text) return row.element;
  fail_at(begin, "unknown element " + text + "; there are " + all_elements());
}

Type LiteralParser::type() {
  std::size_t const begin = token_.begin;
  std::string const word = take_without_advance(TokenKind::identifier, "a type");
  TypeKind const kind = kind_named(word);
  advance();
  if (kind == TypeKind::scalar) return Type::scalar(element_named(word, begin));
  if (kind == TypeKind::mbarrier) return mbarrier_type(begin);
  if (!at("<")) expected("'<'");
  Extents const shape = extents_before_x(begin);
  advance();
  Element const item = element();
  Type const result = kind == TypeKind::tensor ? tensor_type(begin, shape, item) : sized(kind, begin, shape, item);
  expect(">");
  return result;
}

TypeKind LiteralParser::kind_named(std::string_view word) {
  for (TypeKind const kind : {TypeKind::tile, TypeKind::tensor, TypeKind::shared, TypeKind::global, TypeKind::mbarrier,
                              TypeKind::pending, TypeKind::tensor_map})
    if (word == type_word(kind)) return kind;
  return TypeKind::scalar;
}

Extents LiteralParser::extents_before_x(std::size_t begin) {
  Extents shape;
  while (auto const extent = lexer_.scan_extent()) {
    if (shape.size() == max_rank) fail_at(begin, fmt::format("more than {} axes", max_rank));
    shape.push_back(*extent);
  }
  return shape;
}

Type LiteralParser::mbarrier_type(std::size_t begin) {
  if (!accept("<")) return Type::mbarrier();
  std::int64_t const count = integer();
  if (count < 1) fail_at(begin, fmt::format("mbarrier<n> needs n of at least 1, found {}", count));
  expect(">");
  return Type::mbarrier({count});
}

std::string LiteralParser::take_without_advance(TokenKind kind, std::string const& wanted) {
  if (token_.kind != kind) expected(wanted);
  return token_.text;
}

Type LiteralParser::tensor_type(std::size_t begin, Extents const& shape, Element item) const {
  for (std::int64_t const extent : shape)
    if (extent != -1) fail_at(begin, fmt::format("a tensor's extents are written ?, found {}", extent));
  if (shape.empty()) fail_at(begin, "a tensor has at least one axis");
  return Type::tensor(item, shape.size());
}

Type LiteralParser::sized(TypeKind kind, std::size_t begin, Extents const& shape, Element item) {
  check_extents(begin, shape);
  Type const plain = Type::tile(item, shape).as(kind);
  if (!at(",")) return plain;
  if (kind == TypeKind::tensor_map) fail("a tensor map has no layout");
  std::size_t const layout_begin = lexer_.offset();
  auto const text = lexer_.scan_balanced();
  if (!text) fail_at(layout_begin, "expected a layout closed by '>'");
  advance();
  return plain.with_layout(layout(*text, layout_begin, shape, item, plain.is_buffer()));
}

void LiteralParser::check_extents(std::size_t begin, Extents const& shape) const {
  std::int64_t elements = 1;
  for (std::int64_t const extent : shape) {
    if (extent < 1)
      fail_at(begin,
              fmt::format("a tile's extents are at least 1, found {}", extent < 0 ? "?" : fmt::to_string(extent)));
    if (extent > max_tile_elements / elements)
      fail_at(begin, fmt::format("a tile of more than {} elements", max_tile_elements));
    elements *= extent;
  }
}

layout::Layout const* LiteralParser::layout(std::string_view text, std::size_t begin, Extents const& shape,
                                            Element item, bool shared) const {
  std::string error;
  if (layout::Layout const* found = layout::named_layout(text, shape, item, shared, error)) return found;
  fail_at(begin, "layout: " + error);
}

Constant LiteralParser::constant() {
  std::size_t const begin = token_.begin;
  if (token_.kind != TokenKind::number && token_.kind != TokenKind::identifier) expected("a constant");
  std::string const text = token_.text;
  advance();
  expect(":");
  Element const item = element();
  if (item == Element::boolean) {
    if (text != "true" && text != "false") fail_at(begin, "expected true or false, found " + text);
    return {item, text == "true" ? 1U : 0U};
  }
  if (item == Element::u64) return {item, natural_of(text, begin)};
  if (is_integer(item)) {
    std::int64_t const value = integer_of(text, begin);
    Constant const result = make_constant(item, value);
    if (value != to_int(result)) fail_at(begin, text + " does not fit " + std::string(name(item)));
    return result;
  }
  return floating(text, item, begin);
}

Constant LiteralParser::floating(std::string const& text, Element item, std::size_t begin) const {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  if (text == "nan") return make_constant(item, std::numeric_limits<double>::quiet_NaN());
  if (text == "inf" || text == "-inf") {
    if (info(item).overflow != Overflow::infinity)
      fail_at(begin, text + " does not fit " + std::string(name(item)) + ", which saturates");
    return make_constant(item, text == "inf" ? infinity : -infinity);
  }
  char const* const end = text.data() + text.size();
  if (text.starts_with("0x")) {
    std::uint64_t value = 0;
    auto const parsed = std::from_chars(text.data() + 2, end, value, 16);
    bool const fits = bits(item) == 64 || value >> bits(item) == 0;
    if (parsed.ec != std::errc() || parsed.ptr != end || !fits)
      fail_at(begin, text + " is not the bits of an " + std::string(name(item)));
    return {item, value};
  }
  float narrow = 0;
  double wide = 0;
  auto const parsed =
      item == Element::f32 ? std::from_chars(text.data(), end, narrow) : std::from_chars(text.data(), end, wide);
  if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end) fail_at(begin, "expected a number, found " + text);
  Constant const result = make_constant(item, item == Element::f32 ? static_cast<double>(narrow) : wide);
  // As with the other floats, a number that rounds to the maximum fits: up to halfway to where the next one would be.
  bool const saturated = info(item).overflow != Overflow::infinity && !support::fits(item, wide);
  if (parsed.ec != std::errc() || saturated || std::isinf(to_double(result)))
    fail_at(begin, text + " does not fit " + std::string(name(item)));
  return result;
}

Symbol LiteralParser::symbol() {
  if (token_.kind != TokenKind::symbol && token_.kind != TokenKind::string) expected("@name or a string");
  Symbol const result(token_.text);
  advance();
  return result;
}

Extents LiteralParser::extents() {
  Extents result;
  expect("[");
  while (!at("]")) {
    if (result.size() == max_rank) fail(fmt::format("more than {} axes", max_rank));
    result.push_back(integer());
    if (!at("]")) expect(",");
  }
  expect("]");
  return result;
}

std::uint8_t LiteralParser::enumerator(FieldRef const& field) {
  if (token_.kind == TokenKind::identifier)
    for (std::size_t i = 0; i < field.enum_names.size(); ++i)
      if (field.enum_names[i] == token_.text) {
        advance();
        return static_cast<std::uint8_t>(i);
      }
  expected("one of " + support::joined(field.enum_names, ", "));
}

void LiteralParser::field_value(FieldRef const& field) {
  switch (field.kind) {
    case FieldKind::boolean: {
      bool const value = at_word("true");
      if (!value && !at_word("false")) expected("true or false");
      advance();
      *static_cast<bool*>(field.data) = value;
      return;
    }
    case FieldKind::integer:
      *static_cast<std::int64_t*>(field.data) = integer();
      return;
    case FieldKind::enumeration:
      *static_cast<std::uint8_t*>(field.data) = enumerator(field);
      return;
    case FieldKind::element:
      *static_cast<Element*>(field.data) = element();
      return;
    case FieldKind::extents:
      *static_cast<Extents*>(field.data) = extents();
      return;
    case FieldKind::constant:
      *static_cast<Constant*>(field.data) = constant();
      return;
    case FieldKind::symbol:
      *static_cast<Symbol*>(field.data) = symbol();
      return;
  }
}

void LiteralParser::attributes(Attributes& into) {
  if (!at("{") || !attribute_follows()) return;
  advance();
  do {
    std::size_t const begin = token_.begin;
    std::string const key = take(TokenKind::identifier, "an attribute's name");
    std::size_t i = 0;
    while (i < into.fields.size() && into.fields[i].name != key) ++i;
    if (i == into.fields.size())
      fail_at(begin, std::string(into.info.mnemonic) + " has no attribute " + key + known_attributes(into));
    if (into.given[i]) fail_at(begin, "attribute " + key + " is given twice");
    expect("=");
    field_value(into.fields[i]);
    into.given[i] = true;
  } while (accept(","));
  expect("}");
}

std::string LiteralParser::known_attributes(Attributes const& of) {
  std::string text;
  for (FieldRef const& field : of.fields) text += (text.empty() ? "; it has " : ", ") + std::string(field.name);
  return text;
}

bool LiteralParser::attribute_follows() {
  std::size_t const offset = lexer_.offset();
  bool const result = lexer_.next().kind == TokenKind::identifier && lexer_.next().text == "=";
  lexer_.rewind(offset);
  return result;
}

location LiteralParser::where() {
  if (!at_word("loc") || token_.starts_line) return {};
  advance();
  expect("(");
  Symbol const file(take(TokenKind::string, "a file name in quotes"));
  expect(":");
  std::size_t const begin = token_.begin;
  std::int64_t const line = integer();
  if (line < 1 || line > std::numeric_limits<std::uint32_t>::max())
    fail_at(begin, fmt::format("a line number is from 1 to 4294967295, found {}", line));
  expect(")");
  return {file.c_str(), static_cast<std::uint32_t>(line)};
}

}  // namespace tegula::ir
