// Compares constant folding with the simulator: every integer op, all elements, all pairs of edge values.
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/op.hpp"
#include "ir/verify/verifier.hpp"
#include "sim/interpreter.hpp"
#include "support/catch.hpp"
#include "support/host_tensor.hpp"
#include "transform/common/fold.hpp"

using namespace tegula;
using namespace tegula::ir;
using tegula::test::HostTensor;

namespace {

std::vector<Element> integers() {
  return {Element::i8, Element::u8, Element::i16, Element::u16, Element::i32, Element::u32, Element::i64, Element::u64};
}

/// Returns edges of the element's range and of shift amounts, and small numbers.
std::vector<Constant> edges(Element element) {
  if (element == Element::boolean) return {{element, 0}, {element, 1}};
  std::vector<Constant> result;
  if (is_float(element)) {
    for (double const value :
         {0.0, -0.0, 0.5, -0.5, 1.0, -1.5, 127.5, -128.5, 255.5, 65535.5, 2147483648.0, -2147483649.0, 4294967296.0,
          9223372036854775808.0, -9223372036854775808.0, 1.9e19, -1e300, 1e300})
      result.push_back(make_constant(element, value));
    return result;
  }
  std::int64_t const width = bits(element), one = 1;
  for (std::int64_t const value :
       {std::int64_t{0}, one, -one, 2 * one, 3 * one, -3 * one, 7 * one, width - 1, width, width + 1, one << 31,
        one << 32, (one << 32) + 5, (one << 53) + 1, one << 62, min_integer(element), min_integer(element) + 1,
        max_integer(element), max_integer(element) - 1})
    result.push_back(make_constant(element, value));
  return result;
}

/// Runs an op on tiles of these columns, and folds it element by element. Returns the number of elements that folded.
int check(OpKind kind, void const* attributes, std::vector<std::vector<Constant>> const& columns, Element result) {
  auto const count = static_cast<std::int64_t>(columns[0].size());
  Module module;
  Function& kernel = module.add_function("k", FunctionKind::kernel);
  std::vector<HostTensor> tensors;
  for (auto const& column : columns) {
    kernel.add_parameter(Type::tensor(column[0].element, 1), {Direction::in, 1, {}}, "x");
    tensors.emplace_back(column[0].element, Extents{count});
    for (std::int64_t i = 0; i < count; ++i) tensors.back().set(i, column[static_cast<std::size_t>(i)]);
  }
  Value* const output = kernel.add_parameter(Type::tensor(result, 1), {Direction::out, 1, {}}, "y");
  tensors.emplace_back(result, Extents{count});
  Builder builder(kernel.body());
  Value* const zero = builder.index(0);
  std::vector<Value*> operands;
  for (std::size_t i = 0; i < columns.size(); ++i) {
    Element const element = columns[i][0].element;
    auto const load = make_op<LoadOp>(make_constant(element, 0.0));
    operands.push_back(
        builder.value(load, {kernel.parameter(static_cast<int>(i)), zero}, Type::tile(element, {count})));
  }
  Type const type = Type::tile(result, {count});
  Op& op = builder.create(kind, attributes, operands, {&type, 1});
  builder.op(StoreOp{}, {output, op.result(), zero}, {});
  builder.op(ReturnOp{}, std::vector<Value*>{}, {});
  REQUIRE(verify(module).str() == "");
  sim::Arguments arguments;
  for (HostTensor& tensor : tensors) arguments.emplace_back(tensor.view());
  REQUIRE(sim::run(kernel, arguments).clean());
  int folded = 0, wrong = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    std::vector<Constant> constants;
    std::string text;
    for (auto const& column : columns) {
      constants.push_back(column[static_cast<std::size_t>(i)]);
      text += " " + to_string(constants.back());
    }
    auto const found = transform::fold(op, constants, result);
    if (!found) continue;
    ++folded;
    Constant const wanted = tensors.back().get(i);
    if (HostTensor::same(*found, wanted) || wrong++ > 3) continue;
    FAIL_CHECK(op.info().mnemonic << " of" << text << " folds to " << to_string(*found) << ", not to "
                                  << to_string(wanted));
  }
  return folded;
}

/// Pairs every edge with every other.
std::vector<std::vector<Constant>> pairs(Element element) {
  std::vector<std::vector<Constant>> result(2);
  for (Constant const& a : edges(element))
    for (Constant const& b : edges(element)) {
      result[0].push_back(a);
      result[1].push_back(b);
    }
  return result;
}

}  // namespace

TEST_CASE("integers fold to the simulator's values") {
  using K = OpKind;
  for (Element const element : integers()) {
    if (!is_arithmetic(element)) continue;
    for (K const kind : {K::AddOp, K::SubOp, K::MulOp, K::DivOp, K::RemOp, K::CeilDivOp, K::MinOp, K::MaxOp, K::AndOp,
                         K::OrOp, K::XorOp, K::ShlOp, K::ShrOp})
      CHECK(check(kind, nullptr, pairs(element), element) > 100);
    for (K const kind : {K::NegOp, K::NotOp, K::AbsOp}) CHECK(check(kind, nullptr, {edges(element)}, element) > 10);
    for (int p = 0; p < 6; ++p) {
      auto const compare = make_op<CompareOp>(static_cast<Predicate>(p));
      CHECK(check(K::CompareOp, &compare, pairs(element), Element::boolean) > 100);
    }
  }
}

TEST_CASE("conversions fold to the simulator's values") {
  for (int f = 0; f < element_count; ++f)
    for (int t = 0; t < element_count; ++t) {
      auto const from = static_cast<Element>(f), to = static_cast<Element>(t);
      if (from == to || to == Element::boolean) continue;
      CHECK(check(OpKind::CastOp, nullptr, {edges(from)}, to) > 1);
      if (bits(from) == bits(to) && from != Element::boolean && !is_float(from))
        CHECK(check(OpKind::BitcastOp, nullptr, {edges(from)}, to) > 1);
    }
}
