#include <bit>
#include <cmath>
#include <utility>

#include "ir/values/predicate.hpp"
#include "ir/core/match.hpp"
#include "transform/common/fold.hpp"
#include "transform/simplify/canonicalize_rules.hpp"

namespace tegula::transform::rules {
namespace {

using ir::Constant;
using ir::Op;
using ir::OpKind;
using ir::Predicate;
using ir::Type;
using ir::Value;

bool is_number(std::optional<Constant> const& constant, double value) {
  return constant && ir::to_double(*constant) == value &&
         !(value == 0 && is_float(constant->element) && std::signbit(ir::to_double(*constant)));
}
bool is_negative_zero(std::optional<Constant> const& constant) {
  return constant && is_float(constant->element) && ir::to_double(*constant) == 0 &&
         std::signbit(ir::to_double(*constant));
}

Value* fold_constants(RewriteSite& site) {
  std::vector<Constant> constants;
  for (Value* operand : site.op.operands()) {
    auto const constant = constant_of(*operand);
    if (!constant) return nullptr;
    constants.push_back(*constant);
  }
  auto const folded = fold(site.op, constants, site.type().element());
  return folded ? site.builder.constant(*folded, site.type()) : nullptr;
}

/// Rewrites (x op c1) op c2 as x op (c1 op c2), for integers, where both wrap alike.
Value* reassociate(RewriteSite& site) {
  Op* const inner = site.lhs()->defining_op();
  if (inner == nullptr || inner->kind() != site.op.kind()) return nullptr;
  auto const c1 = constant_of(*inner->rhs()), c2 = constant_of(*site.rhs());
  if (!c1 || !c2 || constant_of(*inner->lhs())) return nullptr;
  Constant const both[] = {*c1, *c2};
  auto const folded = fold(site.op, both, site.type().element());
  return folded ? site.same_op({inner->lhs(), site.builder.constant(*folded, site.type())}, site.type()) : nullptr;
}

Value* add(RewriteSite& site, bool integers, std::optional<Constant> const& right) {
  if (integers ? is_number(right, 0) : is_negative_zero(right)) return site.lhs();
  if (!integers) return nullptr;
  if (Value* value = reassociate(site)) return value;
  // (x - y) + y
  if (Op* inner = site.lhs()->defined_by<ir::SubOp>(); inner != nullptr && inner->rhs() == site.rhs())
    return inner->lhs();
  return nullptr;
}

Value* sub(RewriteSite& site, bool integers, std::optional<Constant> const& right) {
  if (is_number(right, 0)) return site.lhs();
  if (!integers) return nullptr;
  if (site.lhs() == site.rhs()) return site.number(0);
  if (right) {  // x - c is x + (-c)
    Constant const negative = ir::make_constant(site.type().element(), static_cast<std::int64_t>(0 - right->bits));
    return site.builder.same(ir::AddOp{}, {site.lhs(), site.builder.constant(negative, site.type())});
  }
  if (Op* inner = site.lhs()->defined_by<ir::AddOp>()) {  // (x + y) - y, (x + y) - x
    if (inner->rhs() == site.rhs()) return inner->lhs();
    if (inner->lhs() == site.rhs()) return inner->rhs();
  }
  return nullptr;
}

Value* mul(RewriteSite& site, bool integers, std::optional<Constant> const& right) {
  if (is_number(right, 1)) return site.lhs();
  if (is_number(right, -1)) return site.builder.same(ir::NegOp{}, {site.lhs()});
  if (!integers) return nullptr;
  if (is_number(right, 0)) return site.number(0);
  return reassociate(site);
}

/// Returns 1 / c if it is a power of two that the format holds, so that x / c and x * (1 / c) round alike.
std::optional<Constant> exact_reciprocal(Constant constant) {
  double const value = ir::to_double(constant);
  int exponent = 0;
  if (!std::isfinite(value) || std::fabs(std::frexp(value, &exponent)) != 0.5) return std::nullopt;
  Constant const result = ir::make_constant(constant.element, 1 / value);
  return ir::to_double(result) == 1 / value ? std::optional(result) : std::nullopt;
}

Value* div(RewriteSite& site, bool integers, std::optional<Constant> const& right) {
  if (is_number(right, 1)) return site.lhs();
  if (integers || !right) return nullptr;
  auto const reciprocal = exact_reciprocal(*right);
  return reciprocal ? site.builder.same(ir::MulOp{}, {site.lhs(), site.builder.constant(*reciprocal, site.type())})
                    : nullptr;
}

/// Simplifies and, or, xor of integers and booleans.
Value* bitwise(RewriteSite& site, std::optional<Constant> const& right) {
  Value* const x = site.lhs();
  OpKind const kind = site.op.kind();
  if (x == site.rhs()) return kind == OpKind::XorOp ? site.number(0) : x;
  if (!right) return nullptr;
  bool const zero = right->bits == 0;
  bool const ones = right->element == Element::boolean ? right->bits == 1 : right->bits == ~std::uint64_t{0};
  if (kind == OpKind::AndOp) return zero ? site.number(0) : ones ? x : reassociate(site);
  if (kind == OpKind::OrOp) return zero ? x : ones ? site.rhs() : reassociate(site);
  return zero ? x : ones ? site.builder.same(ir::NotOp{}, {x}) : reassociate(site);
}

Value* extremum(RewriteSite& site, bool integers) {
  if (site.lhs() == site.rhs()) return site.lhs();
  return integers ? reassociate(site) : nullptr;
}

/// Exchanges the operands of an op of two.
void exchange_sides(RewriteSite& site) {
  Value* const left = site.lhs();
  site.op.set_operand(site.op.position<ir::BinaryDefaults>("lhs"), site.rhs());
  site.op.set_operand(site.op.position<ir::BinaryDefaults>("rhs"), left);
  site.edited = true;
}

Value* compare(RewriteSite& site) {
  Element const element = site.lhs()->type().element();
  auto& predicate = site.op.as<ir::CompareOp>().predicate;
  if (site.lhs() == site.rhs() && !is_float(element)) {
    bool const holds = predicate == Predicate::eq || predicate == Predicate::le || predicate == Predicate::ge;
    return site.number(holds ? 1 : 0);
  }
  if (constant_of(*site.lhs()) && !constant_of(*site.rhs())) {
    predicate = swapped(predicate);
    exchange_sides(site);
  }
  return nullptr;
}

Value* select(RewriteSite& site) {
  if (site.lhs() == site.rhs()) return site.lhs();
  Value* const condition = site.op.in<ir::SelectOp>("condition");
  if (auto const known = constant_of(*condition)) return known->bits != 0 ? site.lhs() : site.rhs();
  if (Op* inverted = condition->defined_by<ir::NotOp>())
    return site.builder.op(ir::SelectOp{}, {inverted->operand(), site.rhs(), site.lhs()}, {site.type()}).result();
  auto const yes = constant_of(*site.lhs()), no = constant_of(*site.rhs());
  if (yes && yes == no) return site.lhs();
  if (site.type().element() != Element::boolean) return nullptr;
  if (yes && no) return yes->bits != 0 ? condition : site.builder.same(ir::NotOp{}, {condition});
  return nullptr;
}

/// Counts the integers or floats in a row that convert without loss: casting there and back returns the same value.
bool holds_all_of(Element wide, Element narrow) {
  if (is_float(wide) != is_float(narrow))
    return is_float(wide) && narrow != Element::boolean && info(wide).mantissa >= bits(narrow);
  if (narrow == Element::boolean) return !is_float(wide);
  if (!is_float(wide))
    return is_signed(narrow) ? is_signed(wide) && bits(wide) >= bits(narrow)
                             : bits(wide) >= bits(narrow) + (is_signed(wide) ? 1 : 0);
  return wide == narrow || wide == Element::f64 || (wide == Element::f32 && narrow != Element::f64) ||
         (is_f8(narrow) && !is_f8(wide));
}

Value* cast(RewriteSite& site) {
  Value* const x = site.operand();
  if (x->type() == site.type()) return x;
  Op* const inner = x->defined_by<ir::CastOp>();
  if (inner == nullptr) return nullptr;
  Value* const source = inner->operand();
  // source -> middle -> result, where the middle loses nothing.
  if (!holds_all_of(x->type().element(), source->type().element())) return nullptr;
  // The way back from a wider float makes an infinity the largest number, where casts saturate.
  bool const keeps_infinities = info(source->type().element()).overflow != Overflow::saturated;
  if (source->type() == site.type()) return keeps_infinities ? source : nullptr;
  bool const same_class = is_float(source->type().element()) == is_float(x->type().element());
  return same_class ? site.builder.op(ir::CastOp{}, {source}, {site.type()}).result() : nullptr;
}

Value* bitcast(RewriteSite& site) {
  Value* const x = site.operand();
  if (x->type() == site.type()) return x;
  Op* const inner = x->defined_by<ir::BitcastOp>();
  if (inner == nullptr) return nullptr;
  if (inner->operand()->type() == site.type()) return inner->operand();
  return site.builder.op(ir::BitcastOp{}, {inner->operand()}, {site.type()}).result();
}

Value* invert(RewriteSite& site) {
  if (Op* inner = site.operand()->defined_by<ir::NotOp>()) return inner->operand();
  Op* const compared = site.operand()->defined_by<ir::CompareOp>();
  if (compared == nullptr) return nullptr;
  Predicate const predicate = compared->as<ir::CompareOp>().predicate;
  bool const total =
      !is_float(compared->lhs()->type().element()) || predicate == Predicate::eq || predicate == Predicate::ne;
  if (!total) return nullptr;
  return site.builder
      .op(ir::make_op<ir::CompareOp>(negated(predicate)), {compared->lhs(), compared->rhs()}, {site.type()})
      .result();
}

Value* negate(RewriteSite& site) {
  Op* const inner = site.op.operand()->defined_by<ir::NegOp>();
  return inner != nullptr ? inner->operand() : nullptr;
}

Value* magnitude(RewriteSite& site, bool integers) {
  Op& op = site.op;
  if (integers && !is_signed(site.type().element())) return op.operand();
  Op* const inner = op.operand()->defining_op();
  if (inner != nullptr && inner->is<ir::AbsOp>()) return op.operand();
  if (inner != nullptr && inner->is<ir::NegOp>()) return site.builder.same(ir::AbsOp{}, {inner->operand()});
  return nullptr;
}

}  // namespace

Value* arithmetic(RewriteSite& site) {
  Op& op = site.op;
  if (!op.is(ir::Family::elementwise)) return nullptr;
  if (Value* value = fold_constants(site)) return value;
  if (op.info().has(ir::commutative) && constant_of(*op.lhs()) && !constant_of(*op.rhs())) exchange_sides(site);
  bool const integers = !is_float(site.type().element());
  auto const right = op.operand_count() == 2 ? constant_of(*op.operand(1)) : std::nullopt;
  using ir::on;
  return ir::match<Value*>(
      op, on<ir::AddOp>([&] { return add(site, integers, right); }),
      on<ir::SubOp>([&] { return sub(site, integers, right); }),
      on<ir::MulOp>([&] { return mul(site, integers, right); }),
      on<ir::DivOp>([&] { return div(site, integers, right); }),
      on<ir::CeilDivOp>([&] { return is_number(right, 1) ? op.lhs() : nullptr; }),
      on<ir::RemOp>([&] { return is_number(right, 1) || is_number(right, -1) ? site.number(0) : nullptr; }),
      on<ir::AndOp, ir::OrOp, ir::XorOp>([&] { return bitwise(site, right); }),
      on<ir::ShlOp, ir::ShrOp>([&] { return is_number(right, 0) ? op.lhs() : nullptr; }),
      on<ir::MinOp, ir::MaxOp>([&] { return extremum(site, integers); }), on<ir::NegOp>([&] { return negate(site); }),
      on<ir::AbsOp>([&] { return magnitude(site, integers); }), on<ir::NotOp>([&] { return invert(site); }),
      on<ir::CompareOp>([&] { return compare(site); }), on<ir::SelectOp>([&] { return select(site); }),
      on<ir::CastOp>([&] { return cast(site); }), on<ir::BitcastOp>([&] { return bitcast(site); }));
}

}  // namespace tegula::transform::rules
