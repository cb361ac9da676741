#include "transform/common/large_scalars.hpp"

#include <algorithm>

namespace tegula::transform {

using ir::Value;

Value* LargeScalars::as_index(Value* scalar) {
  return scalar->type() == ir::Type::index() ? scalar : builder_.value(ir::CastOp{}, {scalar}, ir::Type::index());
}

Value* LargeScalars::of(Value* scalar) {
  constexpr std::int64_t bound = analysis::ComparedSum::large_number;
  Value* const number = as_index(scalar);
  if (std::find(sum_.large.begin(), sum_.large.end(), scalar) == sum_.large.end()) return number;
  Value* const below = builder_.same(ir::MinOp{}, {number, builder_.index(bound)});
  return builder_.same(ir::MaxOp{}, {below, builder_.index(-bound)});
}

Value* LargeScalars::decides() {
  Value* result = nullptr;
  for (Value* const scalar : sum_.checked) {
    Value* const same = builder_.value(ir::make_op<ir::CompareOp>(ir::Predicate::eq), {of(scalar), as_index(scalar)},
                                       ir::Type::scalar(Element::boolean));
    result = result == nullptr ? same : builder_.same(ir::AndOp{}, {result, same});
  }
  return result;
}

}  // namespace tegula::transform
