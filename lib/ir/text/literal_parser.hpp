// Parses the parts within one op of the IR's text: tokens, types, layouts, constants, attributes and locations.
// parser.cpp parses values, blocks and functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/text/lexer.hpp"
#include "ir/core/op_info.hpp"
#include "tegula/ir/type.hpp"

namespace tegula::ir {

/// Stops at text that does not parse; `parse` turns it into a diagnostic.
struct ParseFailure {
  std::size_t offset;
  std::string text;
};

/// Holds the fields of an op under construction.
struct Attributes {
  explicit Attributes(OpInfo const& op)
      : info(op), bytes(std::make_unique<std::byte[]>(std::max<std::size_t>(op.size, 1))) {
    std::memcpy(bytes.get(), op.defaults, op.size);
    fields = fields_of(op.kind, bytes.get());
    given.resize(fields.size(), false);
  }
  /// Sets constants that were not written to zero of the result's element.
  void complete(std::span<Type const> results) {
    for (std::size_t i = 0; i < fields.size(); ++i)
      if (fields[i].kind == FieldKind::constant && !given[i] && !results.empty())
        *static_cast<Constant*>(fields[i].data) = {results.front().element(), 0};
  }

  OpInfo const& info;
  std::unique_ptr<std::byte[]> bytes;
  std::vector<FieldRef> fields;
  std::vector<bool> given;
};

/// Reads literals one by one from a text that outlives it; throws ParseFailure.
class LiteralParser {
 protected:
  explicit LiteralParser(std::string_view source);

  // ---- tokens
  void advance();
  [[noreturn]] void fail(std::string text) const;
  [[noreturn]] void fail_at(std::size_t offset, std::string text) const;
  [[noreturn]] void expected(std::string const& wanted) const;
  [[noreturn]] void expected_not_error(std::string const& wanted) const;
  [[nodiscard]] bool at(std::string_view punctuation) const;
  [[nodiscard]] bool at_word(std::string_view word) const;
  bool accept(std::string_view punctuation);
  bool accept_word(std::string_view word);
  void expect(std::string_view punctuation);
  void expect_identifier(std::string_view word);
  std::string take(TokenKind kind, std::string const& wanted);
  std::int64_t integer();
  std::int64_t integer_of(std::string const& text, std::size_t begin) const;
  std::uint64_t natural_of(std::string const& text, std::size_t begin) const;

  // ---- types and attributes
  Element element();
  Element element_named(std::string const& text, std::size_t begin) const;
  Type type();
  static TypeKind kind_named(std::string_view word);
  Extents extents_before_x(std::size_t begin);
  Type mbarrier_type(std::size_t begin);
  std::string take_without_advance(TokenKind kind, std::string const& wanted);
  Type tensor_type(std::size_t begin, Extents const& shape, Element item) const;

  /// Parses a tile, shared, pending or tensor_map type: static extents, then perhaps a layout.
  Type sized(TypeKind kind, std::size_t begin, Extents const& shape, Element item);
  void check_extents(std::size_t begin, Extents const& shape) const;
  layout::Layout const* layout(std::string_view text, std::size_t begin, Extents const& shape, Element item,
                               bool shared) const;
  Constant constant();
  Constant floating(std::string const& text, Element item, std::size_t begin) const;
  Symbol symbol();
  Extents extents();
  std::uint8_t enumerator(FieldRef const& field);
  void field_value(FieldRef const& field);
  void attributes(Attributes& into);
  static std::string known_attributes(Attributes const& of);
  /// At '{': true when `name =` comes next, so that this is not a block.
  bool attribute_follows();
  location where();

  Lexer lexer_;
  Token token_;
};

}  // namespace tegula::ir
