#include "ir/values/constant_of.hpp"

#include "ir/core/builder.hpp"

namespace tegula::ir {

std::optional<Constant> constant_of(Value const& value) {
  for (Op const* op = value.defining_op(); op != nullptr; op = op->operand()->defining_op()) {
    if (op->is<ConstantOp>()) return op->as<ConstantOp>().value;
    if (!op->is<SplatOp>() && !op->is<BroadcastOp>()) return std::nullopt;
  }
  return std::nullopt;
}

bool is_constant(Value const& value, double number) {
  auto const constant = constant_of(value);
  return constant && to_double(*constant) == number;
}

bool is_zero(Value const& value) {
  Op const* const op = value.defining_op();
  return op != nullptr && op->is<ConstantOp>() && op->as<ConstantOp>().value.bits == 0;
}

}  // namespace tegula::ir
