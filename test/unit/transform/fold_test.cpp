// Tests that constant folding has the exact meaning of the ops.
#include "transform/common/fold.hpp"

#include <cmath>
#include <limits>

#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {

/// Folds an op on constants; the result's element is that of the first operand unless given.
template <class OpStruct>
std::optional<Constant> folded(OpStruct const& attributes, std::vector<Constant> const& operands,
                               std::optional<Element> result = {}) {
  Module module;
  Builder builder(module.add_function("f", FunctionKind::device).body());
  std::vector<Value*> values;
  for (Constant const& constant : operands)
    values.push_back(builder.constant(constant, Type::scalar(constant.element)));
  Op const& op = builder.op(attributes, values, {Type::scalar(result.value_or(operands[0].element))});
  return transform::fold(op, operands, result.value_or(operands[0].element));
}
Constant i32(std::int64_t value) { return make_constant(Element::i32, value); }
Constant i64(std::int64_t value) { return make_constant(Element::i64, value); }
Constant f32(double value) { return make_constant(Element::f32, value); }
Constant truth(bool value) { return {Element::boolean, value ? 1U : 0U}; }

constexpr std::int64_t least32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t least64 = std::numeric_limits<std::int64_t>::min();

}  // namespace

TEST_CASE("fold: integers wrap, division by zero is defined") {
  CHECK(folded(AddOp{}, {i32(2147483647), i32(1)}) == i32(least32));
  CHECK(folded(MulOp{}, {i32(65536), i32(65537)}) == i32(65536));
  CHECK(folded(DivOp{}, {i32(-7), i32(2)}) == i32(-3));
  CHECK(folded(DivOp{}, {i64(5), i64(0)}) == i64(0));
  CHECK(folded(DivOp{}, {i64(least64), i64(-1)}) == i64(least64));
  CHECK(folded(DivOp{}, {i32(least32), i32(-1)}) == i32(least32));
  CHECK(folded(RemOp{}, {i32(-7), i32(2)}) == i32(-1));
  CHECK(folded(RemOp{}, {i32(-7), i32(0)}) == i32(-7));
  CHECK(folded(RemOp{}, {i64(least64), i64(-1)}) == i64(0));
  CHECK(folded(CeilDivOp{}, {i64(9), i64(4)}) == i64(3));
  CHECK(folded(CeilDivOp{}, {i64(9), i64(-4)}) == i64(0));
  CHECK(folded(NegOp{}, {i32(least32)}) == i32(least32));
  CHECK(folded(AbsOp{}, {i32(least32)}) == i32(least32));
}

TEST_CASE("fold: shift amounts out of range") {
  CHECK(folded(ShlOp{}, {i32(1), i32(31)}) == i32(least32));
  CHECK(folded(ShlOp{}, {i32(1), i32(32)}) == i32(0));
  CHECK(folded(ShlOp{}, {i64(1), i64(-1)}) == i64(0));
  CHECK(folded(ShrOp{}, {i32(-8), i32(1)}) == i32(-4));
  CHECK(folded(ShrOp{}, {i32(-8), i32(99)}) == i32(-1));
}

TEST_CASE("fold: floats round once in their own format") {
  CHECK(folded(AddOp{}, {f32(16777216), f32(1)}) == f32(16777216));
  CHECK(folded(DivOp{}, {f32(1), f32(3)}) == f32(1.0 / 3));
  CHECK(folded(MulOp{}, {make_constant(Element::bf16, 1.0078125), make_constant(Element::bf16, 1.0078125)}) ==
        make_constant(Element::bf16, 1.015625));
  CHECK(folded(RoundOp{}, {f32(2.5)}) == f32(2));
  CHECK(folded(DivOp{}, {f32(1), f32(0)}) == f32(INFINITY));
  CHECK(folded(MaxOp{}, {f32(NAN), f32(3)}) == f32(3));
  CHECK(folded(FmaOp{}, {f32(1 + 0x1p-12), f32(1 + 0x1p-12), f32(-1 - 0x1p-11)}) == f32(0x1p-24));
  CHECK_FALSE(folded(FmaOp{}, {f32(INFINITY), f32(0), f32(1)}).has_value());
  CHECK_FALSE(folded(SubOp{}, {f32(INFINITY), f32(INFINITY)}).has_value());
  CHECK_FALSE(folded(SqrtOp{}, {f32(-1)}).has_value());
  CHECK_FALSE(folded(ExpOp{}, {f32(0)}).has_value());
}

TEST_CASE("fold: comparisons with NaN are ordered but ne") {
  Constant const nan = f32(NAN);
  CHECK(folded(make_op<CompareOp>(Predicate::eq), {nan, nan}, Element::boolean) == truth(false));
  CHECK(folded(make_op<CompareOp>(Predicate::ne), {nan, nan}, Element::boolean) == truth(true));
  CHECK(folded(make_op<CompareOp>(Predicate::ge), {nan, f32(1)}, Element::boolean) == truth(false));
  CHECK(folded(make_op<CompareOp>(Predicate::lt), {f32(-0.0), f32(0.0)}, Element::boolean) == truth(false));
}

TEST_CASE("fold: conversions saturate, truncate, wrap and round as the op says") {
  CHECK(folded(CastOp{}, {f32(-1.9)}, Element::i32) == i32(-1));
  CHECK(folded(CastOp{}, {f32(3e9)}, Element::i32) == i32(2147483647));
  CHECK(folded(CastOp{}, {f32(-INFINITY)}, Element::i64) == i64(least64));
  CHECK(folded(CastOp{}, {f32(NAN)}, Element::i64) == i64(0));
  CHECK(folded(CastOp{}, {i64(4294967297)}, Element::i32) == i32(1));
  for (Element const to : {Element::i8, Element::u8, Element::i16, Element::u16}) {
    INFO(name(to));
    auto const of = [&](std::int64_t value) { return make_constant(to, value); };
    CHECK(folded(CastOp{}, {f32(100.9)}, to) == of(100));
    CHECK(folded(CastOp{}, {f32(200.9)}, to) == of(std::min<std::int64_t>(200, max_integer(to))));
    CHECK(folded(CastOp{}, {f32(1e9)}, to) == of(max_integer(to)));
    CHECK(folded(CastOp{}, {f32(static_cast<double>(max_integer(to) + 1))}, to) == of(max_integer(to)));
    CHECK(folded(CastOp{}, {f32(-0.9)}, to) == of(0));
    CHECK(folded(CastOp{}, {f32(-3.5)}, to) == of(is_signed(to) ? -3 : 0));
    CHECK(folded(CastOp{}, {f32(-1e9)}, to) == of(min_integer(to)));
    CHECK(folded(CastOp{}, {i32(-1)}, to) == of(is_signed(to) ? -1 : max_integer(to)));
    CHECK(folded(CastOp{}, {of(-1)}, Element::i32) == i32(is_signed(to) ? -1 : max_integer(to)));
  }
  CHECK(folded(CastOp{}, {i64(16777217)}, Element::f32) == f32(16777216));
  CHECK(folded(CastOp{}, {i64(9007199791611905)}, Element::f32)->bits == 0x5A000001U);  // rounded once, not through f64
  CHECK(folded(CastOp{}, {f32(65520)}, Element::f16) == make_constant(Element::f16, INFINITY));
  CHECK(folded(CastOp{}, {truth(true)}, Element::f32) == f32(1));
  CHECK_FALSE(folded(CastOp{}, {i64(9007199254740993)}, Element::bf16).has_value());
  CHECK(folded(BitcastOp{}, {f32(1)}, Element::i32) == i32(0x3F800000));
  CHECK(folded(BitcastOp{}, {i32(-1)}, Element::f32)->bits == 0xFFFFFFFFU);
  CHECK(folded(BitcastOp{}, {f32(-0.0)}, Element::i32) == i32(least32));
}

TEST_CASE("fold: booleans") {
  CHECK(folded(XorOp{}, {truth(true), truth(true)}) == truth(false));
  CHECK(folded(NotOp{}, {truth(false)}) == truth(true));
  CHECK(folded(SelectOp{}, {truth(false), i32(1), i32(2)}, Element::i32) == i32(2));
}
