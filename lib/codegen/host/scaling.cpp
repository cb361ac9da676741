#include "codegen/host/scaling.hpp"

#include "ir/builder.hpp"
#include "ir/constant_of.hpp"
#include "tegula/math/elementary.hpp"

namespace tegula::codegen::host {
namespace {

using ir::Value;

/// The op that makes the value, if it is of that kind.
template <class OpStruct>
ir::Op const* made_by(Value const& value) {
  ir::Op const* const op = value.defining_op();
  return op != nullptr && op->is<OpStruct>() ? op : nullptr;
}

std::optional<double> constant(Value const& value) {
  auto const found = ir::constant_of(value);
  return found ? std::optional(ir::to_double(*found)) : std::nullopt;
}

/// The bound of `select(a < b, bound, other)` with {a, b} = {bound, other} (an upper bound) or {other, bound}; the
/// value that is bounded through `other`.
std::optional<double> bound(Value const& value, bool upper, Value const*& other) {
  ir::Op const* const select = made_by<ir::SelectOp>(value);
  if (select == nullptr) return std::nullopt;
  ir::Op const* const less = made_by<ir::CompareOp>(*select->operand(0));
  if (less == nullptr) return std::nullopt;
  ir::Predicate const predicate = less->as<ir::CompareOp>().predicate;
  if (predicate != ir::Predicate::lt && predicate != ir::Predicate::gt) return std::nullopt;
  int const smaller = predicate == ir::Predicate::lt ? 0 : 1;  // operand on the small side; a > b is b < a
  other = select->operand(2);
  Value const* const limit = select->operand(1);
  if (less->operand(upper ? smaller : 1 - smaller) != limit || less->operand(upper ? 1 - smaller : smaller) != other)
    return std::nullopt;
  return constant(*limit);
}

/// True when the value is NaN or, times `factor`, within the exponents that a Scaling may have.
bool is_bounded(Value const& value, double factor) {
  Value const* limited = nullptr;
  Value const* free = nullptr;
  std::optional<double> const low = bound(value, false, limited);
  std::optional<double> const high = low ? bound(*limited, true, free) : std::nullopt;
  return high && *low <= *high && *low * factor >= -151 && *high * factor < 129;
}

/// True for n + magic with n as Scaling has it.
bool is_shifted(Value const& value) {
  ir::Op const* const sum = made_by<ir::AddOp>(value);
  if (sum == nullptr || value.type().element() != Element::f32) return false;
  if (!is_constant(*sum->operand(1), math::detail::magic_f32)) return false;
  Value const& unrounded = *sum->operand(0);
  if (is_bounded(unrounded, 1)) return true;
  ir::Op const* const product = made_by<ir::MulOp>(unrounded);
  if (product == nullptr) return false;
  std::optional<double> const factor = constant(*product->operand(1));
  return factor && *factor > 0 && is_bounded(*product->operand(0), *factor);
}

/// e of the power of two with the biased exponent e.
Value const* exponent_of(Value const& power) {
  ir::Op const* const bits = made_by<ir::BitcastOp>(power);
  ir::Op const* const shift = bits == nullptr ? nullptr : made_by<ir::ShlOp>(*bits->operand(0));
  return shift != nullptr && is_constant(*shift->operand(1), 23) ? shift->operand(0) : nullptr;
}

}  // namespace

std::optional<Scaling> match_scaling(ir::Op const& op) {
  if (!op.is<ir::MulOp>() || op.result()->type().element() != Element::f32) return std::nullopt;
  ir::Op const* const first = made_by<ir::MulOp>(*op.operand(0));
  Value const* const rest = exponent_of(*op.operand(1));
  if (first == nullptr || rest == nullptr) return std::nullopt;
  Value const* const half = exponent_of(*first->operand(1));
  ir::Op const* const difference = made_by<ir::SubOp>(*rest);
  if (half == nullptr || difference == nullptr || difference->operand(1) != half) return std::nullopt;
  ir::Op const* const halving = made_by<ir::ShrOp>(*half);
  Value const* const whole = difference->operand(0);
  if (halving == nullptr || halving->operand(0) != whole || !is_constant(*halving->operand(1), 1)) return std::nullopt;
  ir::Op const* const bits = made_by<ir::BitcastOp>(*whole);
  if (bits == nullptr || !is_shifted(*bits->operand(0))) return std::nullopt;
  return Scaling{first->operand(0), bits->operand(0)};
}

std::optional<ExactReduction> match_exact_reduction(ir::Op const& op) {
  if (!op.is<ir::SubOp>() || op.result()->type().element() != Element::f32) return std::nullopt;
  ir::Op const* const product = made_by<ir::MulOp>(*op.operand(1));
  if (product == nullptr || !is_constant(*product->operand(1), math::detail::ln2_high_f32)) return std::nullopt;
  ir::Op const* const n = made_by<ir::SubOp>(*product->operand(0));
  if (n == nullptr || !is_constant(*n->operand(1), math::detail::magic_f32) || !is_shifted(*n->operand(0)))
    return std::nullopt;
  return ExactReduction{op.operand(0), product->operand(0), product->operand(1)};
}

}  // namespace tegula::codegen::host
