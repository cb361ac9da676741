// Tests finding the constants behind values.
#include "ir/values/constant_of.hpp"

#include "ir/core/builder.hpp"
#include "support/catch.hpp"

using namespace tegula;
using namespace tegula::ir;

TEST_CASE("constant_of follows splats and broadcasts; is_zero tells +0 from -0") {
  Module module;
  Builder builder(module.add_function("f", FunctionKind::device).body());
  Type const scalar = Type::scalar(Element::f32), row = Type::tile(Element::f32, {1, 8}),
             tile = Type::tile(Element::f32, {4, 8});
  Value* const minus_zero = builder.constant(-0.0, scalar);
  Value* const splat = builder.value(SplatOp{}, {minus_zero}, row);
  Value* const broadcast = builder.value(BroadcastOp{}, {splat}, tile);
  for (Value const* value : {minus_zero, splat, broadcast}) {
    CHECK(constant_of(*value) == make_constant(Element::f32, -0.0));
    CHECK(is_constant(*value, 0));
    CHECK_FALSE(is_constant(*value, 1));
    CHECK_FALSE(is_zero(*value));  // -0 + -0 is -0, but 0 + -0 is 0
  }
  CHECK(is_zero(*builder.constant(0.0, tile)));
  CHECK(is_zero(*builder.constant(make_constant(Element::i32, std::int64_t{0}), Type::scalar(Element::i32))));
  Value* const sum = builder.same(AddOp{}, {broadcast, broadcast});
  CHECK_FALSE(constant_of(*sum).has_value());
  CHECK_FALSE(is_zero(*sum));
}
