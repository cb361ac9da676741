// Checks the arithmetic rules densely: random small expressions, evaluated before and after with special values.
#include "transform/simplify/canonicalize.hpp"

#include <cmath>
#include <limits>
#include <map>
#include <optional>

#include "ir/infer/infer.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"
#include "transform/common/fold.hpp"
#include "transform/simplify/eliminate_dead_code.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {

std::vector<Constant> special_values(Element element) {
  if (element == Element::boolean) return {{element, 0}, {element, 1}};
  std::vector<Constant> result;
  if (is_float(element)) {
    for (double value : {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, -3.0, 1e-45, 3e38, 0.1,
                         std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
      result.push_back(make_constant(element, value));
    return result;
  }
  std::int64_t const width = bits(element);
  for (std::int64_t value :
       {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, std::int64_t{2}, std::int64_t{3}, std::int64_t{-3},
        std::int64_t{8}, width - 1, width, width + 1, std::int64_t{1} << 31, std::int64_t{1} << 32,
        (std::int64_t{1} << 32) + 5, std::int64_t{1} << 62, min_integer(element), min_integer(element) + 1,
        max_integer(element), max_integer(element) - 1})
    result.push_back(make_constant(element, value));
  return result;
}

/// Makes a function of some parameters that returns one random expression.
struct Expression {
  Module module;
  Function& function = module.add_function("f", FunctionKind::device);
  test::Random random;
  std::vector<Value*> values;

  Expression(std::uint64_t seed, std::vector<Element> const& elements) : random(seed) {
    for (Element element : elements)
      for (int i = 0; i < 2; ++i) values.push_back(function.add_parameter(Type::scalar(element)));
    for (int i = 2 + random.below(6); i > 0; --i)
      values.push_back(op(elements[static_cast<std::size_t>(random.below(static_cast<int>(elements.size())))]));
    function.results = {values.back()->type()};
    Builder(function.body()).op(ReturnOp{}, {values.back()}, {});
  }

  Value* any(Element element) {
    if (random.below(100) < 35) {
      auto const constants = special_values(element);
      return Builder(function.body())
          .constant(constants[static_cast<std::size_t>(random.below(static_cast<int>(constants.size())))],
                    Type::scalar(element));
    }
    std::vector<Value*> fitting;
    for (Value* value : values)
      if (value->type().element() == element) fitting.push_back(value);
    int const size = static_cast<int>(fitting.size());
    return fitting[static_cast<std::size_t>(random.below(2) == 0 ? size - 1 : random.below(size))];
  }

  Element drawn_element() {
    return values[static_cast<std::size_t>(random.below(static_cast<int>(values.size())))]->type().element();
  }

  Value* op(Element element) {
    using K = OpKind;
    static std::vector<K> const integers = {K::AddOp, K::SubOp,     K::MulOp,    K::DivOp,    K::RemOp,  K::MinOp,
                                            K::MaxOp, K::AndOp,     K::OrOp,     K::XorOp,    K::ShlOp,  K::ShrOp,
                                            K::NegOp, K::NotOp,     K::AbsOp,    K::SelectOp, K::CastOp, K::AbsOp,
                                            K::NegOp, K::CeilDivOp, K::BitcastOp};
    static std::vector<K> const stored = {K::SelectOp, K::CastOp, K::CastOp, K::BitcastOp};
    static std::vector<K> const floats = {K::AddOp,    K::SubOp,  K::MulOp,  K::DivOp,  K::NegOp,   K::AbsOp,
                                          K::SelectOp, K::CastOp, K::CastOp, K::CastOp, K::FloorOp, K::RoundOp};
    static std::vector<K> const booleans = {K::AndOp,    K::OrOp,      K::XorOp,     K::NotOp,
                                            K::SelectOp, K::CompareOp, K::CompareOp, K::CompareOp};
    auto const& kinds = element == Element::boolean ? booleans
                        : !is_arithmetic(element)   ? stored
                        : is_float(element)         ? floats
                                                    : integers;
    K const kind = kinds[static_cast<std::size_t>(random.below(static_cast<int>(kinds.size())))];
    Builder builder(function.body());
    Type const type = Type::scalar(element);
    if (kind == K::CompareOp) {
      Element of = drawn_element();
      if (!is_arithmetic(of)) of = Element::boolean;
      Value* const a = any(of);
      Value* const b = random.below(5) == 0 ? a : any(of);
      return builder.value(make_op<CompareOp>(static_cast<Predicate>(random.below(of == Element::boolean ? 2 : 6))),
                           {a, b}, type);
    }
    std::vector<Value*> operands;
    if (kind == K::SelectOp) operands.push_back(any(Element::boolean));
    if (kind == K::CastOp) operands.push_back(any(drawn_element()));
    if (kind == K::BitcastOp) {
      Element from = drawn_element();
      while (bits(from) != bits(element) || from == Element::boolean) from = drawn_element();
      operands.push_back(any(from));
    }
    while (operands.size() < op_info(kind).operands.size()) operands.push_back(any(element));
    return builder.create(kind, nullptr, operands, {&type, 1}).result();
  }

  /// Returns the result for these arguments; nothing if some step is NaN, which fold leaves to the targets.
  std::optional<Constant> evaluate(std::vector<Constant> const& arguments) const {
    std::map<Value const*, Constant> known;
    for (int i = 0; i < function.parameter_count(); ++i)
      known[function.parameter(i)] = arguments[static_cast<std::size_t>(i)];
    for (Op const& op : function.body()) {
      std::vector<Constant> operands;
      for (Value const* operand : op.operands()) operands.push_back(known.at(operand));
      if (op.is<ReturnOp>()) return operands[0];
      auto const value = op.is<ConstantOp>() ? op.as<ConstantOp>().value
                                             : transform::fold(op, operands, op.result()->type().element());
      if (!value) return std::nullopt;
      known[op.result()] = *value;
    }
    return std::nullopt;
  }
};

void check(std::uint64_t seed, std::vector<Element> elements) {
  elements.push_back(Element::boolean);
  Expression expression(seed, elements);
  std::string const before = print(expression.module);
  INFO(before);
  REQUIRE(verify(expression.module).str() == "");
  std::vector<std::vector<Constant>> inputs;
  std::vector<std::optional<Constant>> results;
  for (int i = 0; i < 24; ++i) {
    std::vector<Constant> arguments;
    for (int p = 0; p < expression.function.parameter_count(); ++p) {
      auto const values = special_values(expression.function.parameter(p)->type().element());
      arguments.push_back(values[static_cast<std::size_t>(expression.random.below(static_cast<int>(values.size())))]);
    }
    inputs.push_back(arguments);
    results.push_back(expression.evaluate(arguments));
  }
  CompileOptions const options;
  support::Diagnostics diagnostics;
  analysis::AnalysisCache analyses(expression.module);
  transform::PassContext context{options, sm_90a, diagnostics, analyses};
  transform::canonicalize(expression.function, context);
  transform::eliminate_dead_code(expression.function, context);
  std::string const after = print(expression.module);
  INFO(after);
  REQUIRE(verify(expression.module).str() == "");
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    if (!results[i]) continue;
    std::string text;
    for (Constant const& argument : inputs[i]) text += to_string(argument) + "  ";
    INFO("arguments: " << text);
    auto const now = expression.evaluate(inputs[i]);
    REQUIRE(now.has_value());
    REQUIRE(to_string(*now) == to_string(*results[i]));
  }
}

}  // namespace

TEST_CASE("canonicalize: integer expressions keep their value") {
  for (std::uint64_t seed = 0; seed < 6000; ++seed) check(seed, {Element::i32});
  for (std::uint64_t seed = 0; seed < 3000; ++seed) check(seed, {Element::i64, Element::i32});
  for (std::uint64_t seed = 0; seed < 3000; ++seed) check(seed, {Element::u32});
  for (std::uint64_t seed = 0; seed < 3000; ++seed) check(seed, {Element::u64});
  for (std::uint64_t seed = 0; seed < 3000; ++seed)
    check(seed, {Element::u64, Element::u32, Element::i64, Element::i32});
}

TEST_CASE("canonicalize: elements that are only stored keep their value") {
  for (std::uint64_t seed = 0; seed < 3000; ++seed)
    check(seed, {Element::i8, Element::u8, seed % 2 == 0 ? Element::i32 : Element::u32});
  for (std::uint64_t seed = 0; seed < 3000; ++seed)
    check(seed, {Element::i16, Element::u16, Element::u8, seed % 2 == 0 ? Element::i64 : Element::u64});
  for (std::uint64_t seed = 0; seed < 3000; ++seed)
    check(seed, {Element::i8, seed % 2 == 0 ? Element::e4m3 : Element::e5m2, Element::u64, Element::f32});
}

TEST_CASE("canonicalize: float expressions keep every bit") {
  for (std::uint64_t seed = 0; seed < 6000; ++seed) check(seed, {Element::f32});
  for (std::uint64_t seed = 0; seed < 3000; ++seed) check(seed, {Element::f16, Element::f32, Element::i32});
  for (std::uint64_t seed = 0; seed < 3000; ++seed)
    check(seed, {Element::f64, seed % 2 == 0 ? Element::bf16 : Element::f32});
}
