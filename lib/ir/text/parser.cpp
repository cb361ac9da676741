#include <fmt/format.h>

#include <set>

#include "ir/core/builder.hpp"
#include "ir/text/literal_parser.hpp"
#include "ir/text/text.hpp"
#include "support/string_buffer.hpp"
#include "abi/tensor_facts.hpp"

namespace tegula::ir {
namespace {

bool all_digits(std::string_view text) { return text.find_first_not_of("0123456789") == std::string_view::npos; }

class Parser : LiteralParser {
 public:
  explicit Parser(std::string_view source) : LiteralParser(source) {}

  void run(ParseResult& result) {
    positions_ = &result.positions;
    header();
    while (token_.kind != TokenKind::end) function(result.module);
  }

  [[nodiscard]] support::TextPosition position(std::size_t offset) const { return lexer_.position(offset); }

 private:
  void header() {
    // The hyphen is not a token elsewhere, so the lexer calls it an error here.
    constexpr auto first_line = "\"tegula-ir 1\" as the first line";
    if (!accept_word("tegula") || lexer_.character(token_.begin) != '-') expected_not_error(first_line);
    advance();
    if (!accept_word("ir")) expected_not_error(first_line);
    std::size_t const begin = token_.begin;
    std::int64_t const version = integer();
    if (version != text_version)
      fail_at(begin, fmt::format("format version {} is not known; this library reads {}", version, text_version));
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
    if (++depth_ > max_nesting) fail(fmt::format("blocks nested deeper than {}", max_nesting));
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
      fail_at(begin, fmt::format("{} result name{} but {} type{}", count, count == 1 ? "" : "s", result.size(),
                                 result.size() == 1 ? "" : "s"));
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
    Op& created = info->kind == OpKind::ForOp || info->kind == OpKind::RepeatOp
                      ? loop(into, *info, results.size(), begin)
                  : info->kind == OpKind::IfOp ? branch(into, *info, results.size(), begin)
                                               : plain(into, *info, results.size(), begin);
    created.set_where(where());
    for (std::size_t i = 0; i < results.size(); ++i) define(results[i], *created.result(static_cast<int>(i)));
    positions_->emplace(&created, lexer_.position(begin));
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
    Op& created = Builder(into).create(info.kind, list.bytes.get(), operands, result_types);
    if (info.has(has_regions)) {
      do region(created);
      while (accept_word("and"));
    }
    return created;
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

  /// Parses a for, or a repeat, which does not have a counter.
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
    Op& created = Builder(into).create(info.kind, list.bytes.get(), operands, result_types);
    Block& body = created.add_block();
    std::size_t const scope = scope_.size();
    if (counts) define(counter, *body.add_argument(Type::index()));
    for (std::size_t i = 0; i < carried.size(); ++i)
      define(carried[i], *body.add_argument(operands[i + first]->type()));
    block(body);
    leave_scope(scope);
    return created;
  }

  Op& branch(Block& into, OpInfo const& info, std::size_t results, std::size_t begin) {
    Value* const condition = operand();
    Attributes list(info);
    attributes(list);
    auto const result_types = types(results, begin);
    Op& created = Builder(into).create(info.kind, list.bytes.get(), {&condition, 1}, result_types);
    block(created.add_block());
    expect_identifier("else");
    block(created.add_block());
    return created;
  }

  // ---- functions

  void parameter_attributes(ParameterAttributes& into) {
    if (!accept("{")) return;
    do {
      std::size_t const begin = token_.begin;
      std::string const fact = take(TokenKind::identifier, "unit_inner, aligned_16, whole_16 or multiple_of");
      bool known = false;
      for (TensorFactName const& flag : tensor_fact_names)
        if (flag.name == fact) known = into.facts.*flag.flag = true;
      if (known) continue;
      if (fact == "multiple_of") {
        expect("=");
        std::size_t const value_begin = token_.begin;
        into.multiple_of = integer();
        if (into.multiple_of < 1)
          fail_at(value_begin, fmt::format("multiple_of is at least 1, found {}", into.multiple_of));
      } else
        fail_at(begin, "unknown parameter fact " + fact + "; there are unit_inner, aligned_16, whole_16, multiple_of");
    } while (accept(","));
    expect("}");
  }

  void parameter(Function& into) {
    Definition const name = definition();
    expect(":");
    ParameterAttributes list;
    bool has_direction = false;
    std::size_t const begin = token_.begin;
    for (Direction const direction : {Direction::in, Direction::out, Direction::inout}) {
      if (has_direction || !accept_word(tegula::name(direction))) continue;
      has_direction = true;
      list.direction = direction;
    }
    Type const kind = type();
    if (has_direction != kind.is_tensor())
      fail_at(begin,
              has_direction ? "in, out and inout are for tensors only" : "expected in, out or inout before a tensor");
    parameter_attributes(list);
    define(name, *into.add_parameter(kind, list));
  }

  /// Reads the number of an attribute of a function, which lies within bounds.
  std::int64_t bounded(std::string const& what, std::int64_t min, std::int64_t max) {
    expect("=");
    std::size_t const begin = token_.begin;
    std::int64_t const number = integer();
    if (number < min || number > max)
      fail_at(begin, fmt::format("{} is from {} to {}, found {}", what, min, max, number));
    return number;
  }

  void signature(Function& created) {
    expect("(");
    if (!at(")")) {
      do parameter(created);
      while (accept(","));
    }
    expect(")");
    if (!accept("->")) return;
    expect("(");
    do created.results.push_back(type());
    while (accept(","));
    expect(")");
  }

  void function_attributes(Function& created) {
    if (accept_word("noinline"))
      created.inlining = Inline::no;
    else if (accept_word("inline"))
      created.inlining = Inline::yes;
    if (accept_word("warps")) created.warps = static_cast<int>(bounded("warps", 1, 64));
    if (accept_word("cluster")) created.cluster = static_cast<int>(bounded("cluster", 1, 16));
    if (accept_word("ctas")) created.ctas = static_cast<int>(bounded("ctas", 1, 32));
    if (accept_word("plan")) {
      expect("=");
      created.plan = take(TokenKind::string, "a text in quotes");
    }
    if (accept_word("shared")) created.shared = bounded("shared", 0, bounds::shared_offset.max);
  }

  void function(Module& module) {
    bool const is_kernel = accept_word("kernel");
    if (!is_kernel && !accept_word("function")) expected("kernel or function");
    std::size_t const begin = token_.begin;
    std::string name = take(TokenKind::symbol, "@name");
    if (module.find(name) != nullptr) fail_at(begin, "@" + name + " is defined twice");
    Function& created = module.add_function(std::move(name), is_kernel ? FunctionKind::kernel : FunctionKind::device);
    used_.clear();
    visible_.clear();
    scope_.clear();
    signature(created);
    function_attributes(created);
    // A declaration ends its line; a body may begin on the next one.
    bool const located = token_.kind == TokenKind::identifier && token_.text == "loc";
    bool const ends = token_.kind == TokenKind::end || token_.starts_line || located;
    if (is_kernel || !ends || at("{")) block(created.body());
    created.where = where();
  }

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
  } catch (ParseFailure const& failure) {
    result.module = Module();
    result.positions.clear();
    result.diagnostics.error_at(parser.position(failure.offset), failure.text);
  }
  return result;
}

}  // namespace tegula::ir
