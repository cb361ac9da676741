#include "codegen/host/scaling.hpp"

#include "ir/core/builder.hpp"
#include "ir/values/constant_of.hpp"
#include "tegula/math/elementary.hpp"

namespace tegula::codegen::host {
namespace {

using ir::Value;

std::optional<double> constant(Value const& value) {
  auto const found = ir::constant_of(value);
  return found ? std::optional(ir::to_double(*found)) : std::nullopt;
}

/// Finds the bound of `select(a < b, bound, other)` with {a, b} = {bound, other} (an upper bound) or {other, bound},
/// and the bounded value through `other`.
std::optional<double> bound(Value const& value, bool upper, Value const*& other) {
  ir::Op const* const select = value.defined_by<ir::SelectOp>();
  if (select == nullptr) return std::nullopt;
  ir::Op const* const less = select->in<ir::SelectOp>("condition")->defined_by<ir::CompareOp>();
  if (less == nullptr) return std::nullopt;
  ir::Predicate const predicate = less->as<ir::CompareOp>().predicate;
  if (predicate != ir::Predicate::lt && predicate != ir::Predicate::gt) return std::nullopt;
  bool const ordered = predicate == ir::Predicate::lt;  // a > b is b < a
  other = select->rhs();
  Value const* const limit = select->lhs();
  Value const* const small = ordered ? less->lhs() : less->rhs();
  Value const* const large = ordered ? less->rhs() : less->lhs();
  if ((upper ? small : large) != limit || (upper ? large : small) != other) return std::nullopt;
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

/// True for n + magic with the n of a Scaling.
bool is_shifted(Value const& value) {
  ir::Op const* const sum = value.defined_by<ir::AddOp>();
  if (sum == nullptr || value.type().element() != Element::f32) return false;
  if (!is_constant(*sum->rhs(), math::detail::magic_f32)) return false;
  Value const& unrounded = *sum->lhs();
  if (is_bounded(unrounded, 1)) return true;
  ir::Op const* const product = unrounded.defined_by<ir::MulOp>();
  if (product == nullptr) return false;
  std::optional<double> const factor = constant(*product->rhs());
  return factor && *factor > 0 && is_bounded(*product->lhs(), *factor);
}

/// Returns e of the power of two with the biased exponent e.
Value const* exponent_of(Value const& power) {
  ir::Op const* const bits = power.defined_by<ir::BitcastOp>();
  ir::Op const* const shift = bits == nullptr ? nullptr : bits->operand()->defined_by<ir::ShlOp>();
  return shift != nullptr && is_constant(*shift->rhs(), 23) ? shift->lhs() : nullptr;
}

}  // namespace

std::optional<Scaling> match_scaling(ir::Op const& op) {
  if (!op.is<ir::MulOp>() || op.result()->type().element() != Element::f32) return std::nullopt;
  ir::Op const* const first = op.lhs()->defined_by<ir::MulOp>();
  Value const* const rest = exponent_of(*op.rhs());
  if (first == nullptr || rest == nullptr) return std::nullopt;
  Value const* const half = exponent_of(*first->rhs());
  ir::Op const* const difference = rest->defined_by<ir::SubOp>();
  if (half == nullptr || difference == nullptr || difference->rhs() != half) return std::nullopt;
  ir::Op const* const halving = half->defined_by<ir::ShrOp>();
  Value const* const whole = difference->lhs();
  if (halving == nullptr || halving->lhs() != whole || !is_constant(*halving->rhs(), 1)) return std::nullopt;
  ir::Op const* const bits = whole->defined_by<ir::BitcastOp>();
  if (bits == nullptr || !is_shifted(*bits->operand())) return std::nullopt;
  return Scaling{first->lhs(), bits->operand()};
}

std::optional<ExactReduction> match_exact_reduction(ir::Op const& op) {
  if (!op.is<ir::SubOp>() || op.result()->type().element() != Element::f32) return std::nullopt;
  ir::Op const* const product = op.rhs()->defined_by<ir::MulOp>();
  if (product == nullptr || !is_constant(*product->rhs(), math::detail::ln2_high_f32)) return std::nullopt;
  ir::Op const* const n = product->lhs()->defined_by<ir::SubOp>();
  if (n == nullptr || !is_constant(*n->rhs(), math::detail::magic_f32) || !is_shifted(*n->lhs())) return std::nullopt;
  return ExactReduction{op.lhs(), product->lhs(), product->rhs()};
}

}  // namespace tegula::codegen::host
