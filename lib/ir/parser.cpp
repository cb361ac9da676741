#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>

#include "ir/builder.hpp"
#include "ir/layout_names.hpp"
#include "ir/lexer.hpp"
#include "ir/text.hpp"
#include "support/string_buffer.hpp"
#include "tegula/support/half.hpp"

namespace tegula::ir {
namespace {

/// Unwinds to `parse`; never leaves this file.
struct Failure {
  std::size_t offset;
  std::string text;
};

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

bool all_digits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

/// The fields of an op under construction.
struct Attributes {
  explicit Attributes(OpInfo const& op)
      : info(op), bytes(std::make_unique<std::byte[]>(std::max<std::size_t>(op.size, 1))) {
    std::memcpy(bytes.get(), op.defaults, op.size);
    fields = fields_of(op.kind, bytes.get());
    given.resize(fields.size(), false);
  }
  /// Constants that were not written are zero of the result's element.
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

class Parser {
 public:
  explicit Parser(std::string_view source) : lexer_(source) { advance(); }

  void run(ParseResult& result) {
    positions_ = &result.positions;
    header();
    while (token_.kind != TokenKind::end) function(result.module);
  }

  [[nodiscard]] support::TextPosition position(std::size_t offset) const { return lexer_.position(offset); }

 private:
  // ---- tokens

  void advance() { token_ = lexer_.next(); }

  [[noreturn]] void fail(std::string text) const { throw Failure{token_.begin, std::move(text)}; }
  [[noreturn]] void fail_at(std::size_t offset, std::string text) const { throw Failure{offset, std::move(text)}; }
  [[noreturn]] void expected(std::string const& what) const {
    fail(token_.kind == TokenKind::error ? token_.text : "expected " + what + ", found " + shown(token_));
  }

  [[noreturn]] void expected_not_error(std::string const& what) const {
    fail("expected " + what + ", found " + shown(token_));
  }

  [[nodiscard]] bool at(std::string_view punctuation) const {
    return token_.kind == TokenKind::punctuation && token_.text == punctuation;
  }
  [[nodiscard]] bool at_word(std::string_view word) const {
    return token_.kind == TokenKind::identifier && token_.text == word;
  }

  bool accept(std::string_view punctuation) {
    if (!at(punctuation)) return false;
    advance();
    return true;
  }
  bool accept_word(std::string_view word) {
    if (!at_word(word)) return false;
    advance();
    return true;
  }
  void expect(std::string_view punctuation) {
    if (!accept(punctuation)) expected("'" + std::string(punctuation) + "'");
  }
  void expect_identifier(std::string_view word) {
    if (!accept_word(word)) expected(std::string(word));
  }
  std::string take(TokenKind kind, std::string const& what) {
    if (token_.kind != kind) expected(what);
    std::string text = std::move(token_.text);
    advance();
    return text;
  }

  std::int64_t integer() {
    std::size_t const begin = token_.begin;
    std::string const text = take(TokenKind::number, "an integer");
    return integer_of(text, begin);
  }
  std::int64_t integer_of(std::string const& text, std::size_t begin) const {
    std::int64_t value = 0;
    auto const [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) fail_at(begin, text + " does not fit 64 bits");
    if (error != std::errc() || end != text.data() + text.size()) fail_at(begin, "expected an integer, found " + text);
    return value;
  }

  void header() {
    // The hyphen is no token elsewhere, so the lexer calls it an error here.
    constexpr auto what = "\"tegula-ir 1\" as the first line";
    if (!accept_word("tegula") || lexer_.character(token_.begin) != '-') expected_not_error(what);
    advance();
    if (!accept_word("ir")) expected_not_error(what);
    std::size_t const begin = token_.begin;
    std::int64_t const version = integer();
    if (version != text_version)
      fail_at(begin, "format version " + std::to_string(version) + " is not known; this library reads " +
                         std::to_string(text_version));
  }

  // ---- types and attributes

  Element element() {
    std::size_t const begin = token_.begin;
    std::string const text = take(TokenKind::identifier, "an element (bool, i32, i64, f16, bf16, f32, f64)");
    return element_named(text, begin);
  }
  Element element_named(std::string const& text, std::size_t begin) const {
    for (ElementInfo const& row : element_table)
      if (row.name == text) return row.element;
    fail_at(begin, "unknown element " + text + "; there are bool, i32, i64, f16, bf16, f32, f64");
  }

  Type type() {
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
  static TypeKind kind_named(std::string_view word) {
    for (TypeKind const kind : {TypeKind::tile, TypeKind::tensor, TypeKind::shared, TypeKind::mbarrier,
                                TypeKind::pending, TypeKind::tensor_map})
      if (word == type_word(kind)) return kind;
    return TypeKind::scalar;
  }
  Extents extents_before_x(std::size_t begin) {
    Extents shape;
    while (auto const extent = lexer_.scan_extent()) {
      if (shape.size() == max_rank) fail_at(begin, "more than " + std::to_string(max_rank) + " axes");
      shape.push_back(*extent);
    }
    return shape;
  }

  Type mbarrier_type(std::size_t begin) {
    if (!accept("<")) return Type::mbarrier();
    std::int64_t const count = integer();
    if (count < 1) fail_at(begin, "mbarrier<n> needs n of at least 1, found " + std::to_string(count));
    expect(">");
    return Type::mbarrier({count});
  }
  std::string take_without_advance(TokenKind kind, std::string const& what) {
    if (token_.kind != kind) expected(what);
    return token_.text;
  }

  Type tensor_type(std::size_t begin, Extents const& shape, Element item) const {
    for (std::int64_t const extent : shape)
      if (extent != -1) fail_at(begin, "a tensor's extents are written ?, found " + std::to_string(extent));
    if (shape.empty()) fail_at(begin, "a tensor has at least one axis");
    return Type::tensor(item, shape.size());
  }

  /// A tile, shared, pending or tensor_map type: static extents, then perhaps a layout.
  Type sized(TypeKind kind, std::size_t begin, Extents const& shape, Element item) {
    check_extents(begin, shape);
    Type const plain = Type::tile(item, shape).as(kind);
    if (!at(",")) return plain;
    if (kind == TypeKind::tensor_map) fail("a tensor map has no layout");
    std::size_t const layout_begin = lexer_.offset();
    auto const text = lexer_.scan_balanced();
    if (!text) fail_at(layout_begin, "expected a layout closed by '>'");
    advance();
    return plain.with_layout(layout(*text, layout_begin, shape, item, kind == TypeKind::shared));
  }

  void check_extents(std::size_t begin, Extents const& shape) const {
    std::int64_t elements = 1;
    for (std::int64_t const extent : shape) {
      if (extent < 1)
        fail_at(begin, "a tile's extents are at least 1, found " + (extent < 0 ? "?" : std::to_string(extent)));
      if (extent > max_tile_elements / elements)
        fail_at(begin, "a tile of more than " + std::to_string(max_tile_elements) + " elements");
      elements *= extent;
    }
  }

  Layout const* layout(std::string_view text, std::size_t begin, Extents const& shape, Element item,
                       bool shared) const {
    std::string error;
    if (Layout const* found = named_layout(text, shape, item, shared, error)) return found;
    fail_at(begin, "layout: " + error);
  }

  Constant constant() {
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
    if (is_integer(item)) {
      std::int64_t const value = integer_of(text, begin);
      if (item == Element::i32 && value != static_cast<std::int32_t>(value)) fail_at(begin, text + " does not fit i32");
      return {item, static_cast<std::uint64_t>(value)};
    }
    return floating(text, item, begin);
  }

  Constant floating(std::string const& text, Element item, std::size_t begin) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (text == "nan") return make_constant(item, std::numeric_limits<double>::quiet_NaN());
    if (text == "inf" || text == "-inf") return make_constant(item, text == "inf" ? infinity : -infinity);
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
    if (parsed.ec == std::errc::invalid_argument || parsed.ptr != end)
      fail_at(begin, "expected a number, found " + text);
    Constant const result = make_constant(item, item == Element::f32 ? static_cast<double>(narrow) : wide);
    if (parsed.ec != std::errc() || std::isinf(to_double(result)))
      fail_at(begin, text + " does not fit " + std::string(name(item)));
    return result;
  }

  Symbol symbol() {
    if (token_.kind != TokenKind::symbol && token_.kind != TokenKind::string) expected("@name or a string");
    Symbol const result(token_.text);
    advance();
    return result;
  }

  Extents extents() {
    Extents result;
    expect("[");
    while (!at("]")) {
      if (result.size() == max_rank) fail("more than " + std::to_string(max_rank) + " axes");
      result.push_back(integer());
      if (!at("]")) expect(",");
    }
    expect("]");
    return result;
  }

  std::uint8_t enumerator(FieldRef const& field) {
    if (token_.kind == TokenKind::identifier)
      for (std::size_t i = 0; i < field.enum_names.size(); ++i)
        if (field.enum_names[i] == token_.text) {
          advance();
          return static_cast<std::uint8_t>(i);
        }
    expected("one of " + support::joined(field.enum_names, ", "));
  }

  void field_value(FieldRef const& field) {
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

  void attributes(Attributes& into) {
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
  static std::string known_attributes(Attributes const& of) {
    std::string text;
    for (FieldRef const& field : of.fields) text += (text.empty() ? "; it has " : ", ") + std::string(field.name);
    return text;
  }
  /// At '{': true when `name =` comes next, so that this is no block.
  bool attribute_follows() {
    std::size_t const offset = lexer_.offset();
    bool const result = lexer_.next().kind == TokenKind::identifier && lexer_.next().text == "=";
    lexer_.rewind(offset);
    return result;
  }

  location where() {
    if (!at_word("loc") || token_.starts_line) return {};
    advance();
    expect("(");
    Symbol const file(take(TokenKind::string, "a file name in quotes"));
    expect(":");
    std::size_t const begin = token_.begin;
    std::int64_t const line = integer();
    if (line < 1 || line > std::numeric_limits<std::uint32_t>::max())
      fail_at(begin, "a line number is from 1 to 4294967295, found " + std::to_string(line));
    expect(")");
    return {file.c_str(), static_cast<std::uint32_t>(line)};
  }

  // ---- values

  struct Definition {
    std::string name;
    std::size_t begin = 0;
  };

  Definition definition() {
    Definition result{{}, token_.begin};
    result.name = take(TokenKind::value, "a value's name");
    bool const digit_first = result.name.front() >= '0' && result.name.front() <= '9';
    if (digit_first && !all_digits(result.name))
      fail_at(result.begin, "a value's name is a number or starts with a letter, found %" + result.name);
    return result;
  }

  void define(Definition const& definition, Value& value) {
    if (!all_digits(definition.name)) value.set_name(definition.name);
    if (!used_.insert(definition.name).second) fail_at(definition.begin, "%" + definition.name + " is defined twice");
    visible_.emplace(definition.name, &value);
    scope_.push_back(definition.name);
  }

  Value* operand() {
    std::size_t const begin = token_.begin;
    std::string const name = take(TokenKind::value, "a value");
    auto const found = visible_.find(name);
    if (found != visible_.end()) return found->second;
    fail_at(begin, used_.count(name) != 0 ? "%" + name + " is not visible here: its block has ended"
                                          : "%" + name + " is not defined");
  }

  // ---- ops

  void block(Block& into) {
    if (++depth_ > max_nesting) fail("blocks nested deeper than " + std::to_string(max_nesting));
    std::size_t const scope = scope_.size();
    expect("{");
    while (!at("}")) op(into);
    advance();
    leave_scope(scope);
    --depth_;
  }
  void leave_scope(std::size_t size) {
    for (; scope_.size() > size; scope_.pop_back()) visible_.erase(scope_.back());
  }

  std::vector<Type> types(std::size_t count, std::size_t begin) {
    std::vector<Type> result;
    if (count != 0 || at(":")) {
      expect(":");
      do result.push_back(type());
      while (accept(","));
    }
    if (result.size() != count)
      fail_at(begin, std::to_string(count) + " result name" + (count == 1 ? "" : "s") + " but " +
                         std::to_string(result.size()) + " type" + (result.size() == 1 ? "" : "s"));
    return result;
  }

  void op(Block& into) {
    std::size_t const begin = token_.begin;
    std::vector<Definition> results;
    if (token_.kind == TokenKind::value) {
      do results.push_back(definition());
      while (accept(","));
      expect("=");
    }
    std::size_t const name_begin = token_.begin;
    std::string const mnemonic = take(TokenKind::identifier, results.empty() ? "an op or '}'" : "an op");
    OpInfo const* info = find_op(mnemonic);
    if (info == nullptr) fail_at(name_begin, "unknown op " + mnemonic);
    Op& made = info->kind == OpKind::ForOp || info->kind == OpKind::RepeatOp ? loop(into, *info, results.size(), begin)
               : info->kind == OpKind::IfOp ? branch(into, *info, results.size(), begin)
                                            : plain(into, *info, results.size(), begin);
    made.set_where(where());
    for (std::size_t i = 0; i < results.size(); ++i) define(results[i], *made.result(static_cast<int>(i)));
    positions_->emplace(&made, lexer_.position(begin));
  }

  Op& plain(Block& into, OpInfo const& info, std::size_t results, std::size_t begin) {
    std::vector<Value*> operands;
    if (token_.kind == TokenKind::value && !token_.starts_line) {
      do operands.push_back(operand());
      while (accept(","));
    }
    Attributes list(info);
    attributes(list);
    auto const result_types = types(results, begin);
    list.complete(result_types);
    Op& made = Builder(into).create(info.kind, list.bytes.get(), operands, result_types);
    if (info.has(has_regions)) {
      do region(made);
      while (accept_word("and"));
    }
    return made;
  }

  /// `(%g: i64) { ... }`
  void region(Op& into) {
    Block& body = into.add_block();
    std::size_t const scope = scope_.size();
    if (accept("(")) {
      do {
        Definition const name = definition();
        expect(":");
        define(name, *body.add_argument(type()));
      } while (accept(","));
      expect(")");
    }
    block(body);
    leave_scope(scope);
  }

  /// A for, or a repeat, which has no counter.
  Op& loop(Block& into, OpInfo const& info, std::size_t results, std::size_t begin) {
    bool const counts = info.kind == OpKind::ForOp;
    Definition counter;
    std::vector<Value*> operands;
    if (counts) {
      counter = definition();
      expect("=");
      operands.push_back(operand());
      expect_identifier("to");
      operands.push_back(operand());
      expect_identifier("step");
      operands.push_back(operand());
    }
    std::size_t const first = operands.size();
    std::vector<Definition> carried;
    if (accept_word("carry")) {
      expect("(");
      do {
        carried.push_back(definition());
        expect("=");
        operands.push_back(operand());
      } while (accept(","));
      expect(")");
    }
    Attributes list(info);
    attributes(list);
    auto const result_types = types(results, begin);
    Op& made = Builder(into).create(info.kind, list.bytes.get(), operands, result_types);
    Block& body = made.add_block();
    std::size_t const scope = scope_.size();
    if (counts) define(counter, *body.add_argument(Type::index()));
    for (std::size_t i = 0; i < carried.size(); ++i)
      define(carried[i], *body.add_argument(operands[i + first]->type()));
    block(body);
    leave_scope(scope);
    return made;
  }

  Op& branch(Block& into, OpInfo const& info, std::size_t results, std::size_t begin) {
    Value* const condition = operand();
    Attributes list(info);
    attributes(list);
    auto const result_types = types(results, begin);
    Op& made = Builder(into).create(info.kind, list.bytes.get(), {&condition, 1}, result_types);
    block(made.add_block());
    expect_identifier("else");
    block(made.add_block());
    return made;
  }

  // ---- functions

  void parameter_attributes(ParameterAttributes& into) {
    if (!accept("{")) return;
    do {
      std::size_t const begin = token_.begin;
      std::string const fact = take(TokenKind::identifier, "unit_inner, aligned_16 or multiple_of");
      if (fact == "unit_inner")
        into.facts.unit_inner_stride = true;
      else if (fact == "aligned_16")
        into.facts.aligned_16 = true;
      else if (fact == "multiple_of") {
        expect("=");
        std::size_t const value_begin = token_.begin;
        into.multiple_of = integer();
        if (into.multiple_of < 1)
          fail_at(value_begin, "multiple_of is at least 1, found " + std::to_string(into.multiple_of));
      } else
        fail_at(begin, "unknown parameter fact " + fact + "; there are unit_inner, aligned_16, multiple_of");
    } while (accept(","));
    expect("}");
  }

  void parameter(Function& into) {
    Definition const name = definition();
    expect(":");
    ParameterAttributes list;
    bool has_direction = true;
    std::size_t const begin = token_.begin;
    if (accept_word("in"))
      list.direction = Direction::in;
    else if (accept_word("out"))
      list.direction = Direction::out;
    else if (accept_word("inout"))
      list.direction = Direction::inout;
    else
      has_direction = false;
    Type const kind = type();
    if (has_direction != kind.is_tensor())
      fail_at(begin, has_direction ? "in, out and inout stand before tensors only"
                                   : "expected in, out or inout before a tensor");
    parameter_attributes(list);
    define(name, *into.add_parameter(kind, list));
  }

  void function(Module& module) {
    bool const is_kernel = accept_word("kernel");
    if (!is_kernel && !accept_word("function")) expected("kernel or function");
    std::size_t const begin = token_.begin;
    std::string name = take(TokenKind::symbol, "@name");
    if (module.find(name) != nullptr) fail_at(begin, "@" + name + " is defined twice");
    Function& made = module.add_function(std::move(name), is_kernel ? FunctionKind::kernel : FunctionKind::device);
    used_.clear();
    visible_.clear();
    scope_.clear();
    expect("(");
    if (!at(")")) {
      do parameter(made);
      while (accept(","));
    }
    expect(")");
    if (accept("->")) {
      expect("(");
      do made.results.push_back(type());
      while (accept(","));
      expect(")");
    }
    if (accept_word("noinline"))
      made.inlining = Inline::no;
    else if (accept_word("inline"))
      made.inlining = Inline::yes;
    if (accept_word("warps")) {
      expect("=");
      std::size_t const value_begin = token_.begin;
      std::int64_t const warps = integer();
      if (warps < 1 || warps > 64) fail_at(value_begin, "warps is from 1 to 64, found " + std::to_string(warps));
      made.warps = static_cast<int>(warps);
    }
    if (accept_word("cluster")) {
      expect("=");
      std::size_t const value_begin = token_.begin;
      std::int64_t const cluster = integer();
      if (cluster < 1 || cluster > 16)
        fail_at(value_begin, "cluster is from 1 to 16, found " + std::to_string(cluster));
      made.cluster = static_cast<int>(cluster);
    }
    block(made.body());
    made.where = where();
  }

  Lexer lexer_;
  Token token_;
  Positions* positions_ = nullptr;
  std::set<std::string> used_;
  std::unordered_map<std::string, Value*> visible_;
  std::vector<std::string> scope_;
  int depth_ = 0;
};

}  // namespace

ParseResult parse(std::string_view text) {
  ParseResult result;
  Parser parser(text);
  try {
    parser.run(result);
  } catch (Failure const& failure) {
    result.module = Module();
    result.positions.clear();
    result.diagnostics.error_at(parser.position(failure.offset), failure.text);
  }
  return result;
}

}  // namespace tegula::ir
