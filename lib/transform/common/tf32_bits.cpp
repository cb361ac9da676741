#include "transform/common/tf32_bits.hpp"

#include <algorithm>

#include "ir/core/walk.hpp"
#include "ir/values/constant_of.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

constexpr std::int64_t kept_bits = -(std::int64_t{1} << 13);  ///< of an f32 by tf32

bool keeps_upper_bits(Op const& op) {
  return op.is<ir::AndOp>() && std::any_of(op.operands().begin(), op.operands().end(), [](Value const* operand) {
           auto const constant = ir::constant_of(*operand);
           return constant && *constant == ir::make_constant(Element::i32, kept_bits);
         });
}

}  // namespace

Value* upper_bits(ir::Builder& builder, Value* tile) {
  ir::Type const type = tile->type(), words = type.with_element(Element::i32);
  Value* const bits = builder.value(ir::BitcastOp{}, {tile}, words);
  Value* const kept = builder.constant(ir::make_constant(Element::i32, kept_bits), words);
  return builder.value(ir::BitcastOp{}, {builder.same(ir::AndOp{}, {bits, kept})}, type);
}

bool takes_upper_bits(ir::Function& function) {
  bool found = false;
  ir::walk(function, [&](Op& op) { found = found || keeps_upper_bits(op); });
  return found;
}

}  // namespace tegula::transform
