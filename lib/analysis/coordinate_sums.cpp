#include "analysis/coordinate_sums.hpp"

#include "ir/builder.hpp"
#include "ir/rewrite.hpp"

namespace tegula::analysis {

using ir::Op;
using ir::Value;

namespace {

CoordinateSum plus(CoordinateSum a, CoordinateSum const& b, std::int64_t times) {
  a.least += times * (times > 0 ? b.least : b.most);
  a.most += times * (times > 0 ? b.most : b.least);
  a.factor += times * b.factor;
  for (auto const& [value, factor] : b.terms) a.terms.emplace_back(value, times * factor);
  return a;
}

std::optional<CoordinateSum> coordinate_sum(Value& value, SumLeaves const& leaves) {
  if (!is_integer(value.type().element())) return std::nullopt;
  if (value.type().is_scalar()) {
    if (&value == leaves.index) return CoordinateSum{0, 0, 1, {}};
    if (auto const number = ir::constant_int(value)) return CoordinateSum{*number, *number, 0, {}};
    if (leaves.is_scalar(value)) return CoordinateSum{0, 0, 0, {{&value, 1}}};
  }
  Op const* const op = value.defining_op();
  if (op == nullptr) return std::nullopt;
  if (op->is<ir::ConstantOp>()) {
    std::int64_t const number = ir::to_int(op->as<ir::ConstantOp>().value);
    return CoordinateSum{number, number, 0, {}};
  }
  if (op->is<ir::IotaOp>()) return CoordinateSum{0, value.type().shape()[op->as<ir::IotaOp>().axis] - 1, 0, {}};
  if (op->is<ir::SplatOp>() || op->is<ir::BroadcastOp>() || op->is<ir::ExpandDimsOp>() || op->is<ir::SqueezeOp>() ||
      op->is<ir::TransOp>() || op->is<ir::ConvertLayoutOp>() ||
      (op->is<ir::CastOp>() && bytes(value.type().element()) >= bytes(op->operand(0)->type().element())))
    return coordinate_sum(*op->operand(0), leaves);
  if (op->is<ir::AddOp>() || op->is<ir::SubOp>()) {
    auto const left = coordinate_sum(*op->operand(0), leaves), right = coordinate_sum(*op->operand(1), leaves);
    if (!left || !right) return std::nullopt;
    return plus(*left, *right, op->is<ir::AddOp>() ? 1 : -1);
  }
  if (op->is<ir::MulOp>()) {
    for (int i = 0; i < 2; ++i)
      if (auto const factor = ir::constant_int(*op->operand(i)))
        if (auto const other = coordinate_sum(*op->operand(1 - i), leaves)) return plus({}, *other, *factor);
  }
  return std::nullopt;
}

}  // namespace

std::optional<CoordinateSum> compared_sum(Op const& compare, SumLeaves const& leaves) {
  using ir::Predicate;
  Predicate const predicate = compare.as<ir::CompareOp>().predicate;
  bool const turned = predicate == Predicate::gt || predicate == Predicate::ge;
  if (predicate == Predicate::eq || predicate == Predicate::ne) return std::nullopt;
  auto const left = coordinate_sum(*compare.operand(turned ? 1 : 0), leaves);
  auto const right = coordinate_sum(*compare.operand(turned ? 0 : 1), leaves);
  if (!left || !right) return std::nullopt;
  CoordinateSum difference = plus(*left, *right, -1);
  if (predicate == Predicate::le || predicate == Predicate::ge) --difference.most;
  return difference;
}

}  // namespace tegula::analysis
