#include <bit>
#include <cmath>
#include <utility>

#include "transform/canonicalize_rules.hpp"
#include "transform/fold.hpp"

namespace tegula::transform::rules {
namespace {

using ir::Constant;
using ir::Op;
using ir::OpKind;
using ir::Predicate;
using ir::Type;
using ir::Value;

template <class OpStruct>
Op* made_by(Value* value) {
  Op* const op = value->defining_op();
  return op != nullptr && op->is<OpStruct>() ? op : nullptr;
}

bool is_number(std::optional<Constant> const& constant, double value) {
  return constant && ir::to_double(*constant) == value &&
         !(value == 0 && is_float(constant->element) && std::signbit(ir::to_double(*constant)));
}
bool is_negative_zero(std::optional<Constant> const& constant) {
  return constant && is_float(constant->element) && ir::to_double(*constant) == 0 &&
         std::signbit(ir::to_double(*constant));
}

Value* fold_constants(Site& site) {
  std::vector<Constant> constants;
  for (Value* operand : site.op.operands()) {
    auto const constant = constant_of(*operand);
    if (!constant) return nullptr;
    constants.push_back(*constant);
  }
  auto const folded = fold(site.op, constants, site.type().element());
  return folded ? site.builder.constant(*folded, site.type()) : nullptr;
}

/// (x op c1) op c2 becomes x op (c1 op c2), for integers, where both wrap alike.
Value* reassociate(Site& site) {
  Op* const inner = site.operand(0)->defining_op();
  if (inner == nullptr || inner->kind() != site.op.kind()) return nullptr;
  auto const c1 = constant_of(*inner->operand(1)), c2 = constant_of(*site.operand(1));
  if (!c1 || !c2 || constant_of(*inner->operand(0))) return nullptr;
  Constant const both[] = {*c1, *c2};
  auto const folded = fold(site.op, both, site.type().element());
  return folded ? site.same_op({inner->operand(0), site.builder.constant(*folded, site.type())}, site.type()) : nullptr;
}

Value* add(Site& site, bool integers, std::optional<Constant> const& right) {
  if (integers ? is_number(right, 0) : is_negative_zero(right)) return site.operand(0);
  if (!integers) return nullptr;
  if (Value* value = reassociate(site)) return value;
  // (x - y) + y
  if (Op* inner = made_by<ir::SubOp>(site.operand(0)); inner != nullptr && inner->operand(1) == site.operand(1))
    return inner->operand(0);
  return nullptr;
}

Value* sub(Site& site, bool integers, std::optional<Constant> const& right) {
  if (is_number(right, 0)) return site.operand(0);
  if (!integers) return nullptr;
  if (site.operand(0) == site.operand(1)) return site.number(0);
  if (right) {  // x - c is x + (-c)
    Constant const negative = ir::make_constant(site.type().element(), static_cast<std::int64_t>(0 - right->bits));
    return site.builder.same(ir::AddOp{}, {site.operand(0), site.builder.constant(negative, site.type())});
  }
  if (Op* inner = made_by<ir::AddOp>(site.operand(0))) {  // (x + y) - y, (x + y) - x
    if (inner->operand(1) == site.operand(1)) return inner->operand(0);
    if (inner->operand(0) == site.operand(1)) return inner->operand(1);
  }
  return nullptr;
}

Value* mul(Site& site, bool integers, std::optional<Constant> const& right) {
  if (is_number(right, 1)) return site.operand(0);
  if (is_number(right, -1)) return site.builder.same(ir::NegOp{}, {site.operand(0)});
  if (!integers) return nullptr;
  if (is_number(right, 0)) return site.number(0);
  return reassociate(site);
}

/// 1 / c when it is a power of two that the format holds, so that x / c and x * (1 / c) round alike.
std::optional<Constant> exact_reciprocal(Constant constant) {
  double const value = ir::to_double(constant);
  int exponent = 0;
  if (!std::isfinite(value) || std::fabs(std::frexp(value, &exponent)) != 0.5) return std::nullopt;
  Constant const result = ir::make_constant(constant.element, 1 / value);
  return ir::to_double(result) == 1 / value ? std::optional(result) : std::nullopt;
}

Value* div(Site& site, bool integers, std::optional<Constant> const& right) {
  if (is_number(right, 1)) return site.operand(0);
  if (integers || !right) return nullptr;
  auto const reciprocal = exact_reciprocal(*right);
  return reciprocal ? site.builder.same(ir::MulOp{}, {site.operand(0), site.builder.constant(*reciprocal, site.type())})
                    : nullptr;
}

/// and, or, xor of integers and booleans.
Value* bitwise(Site& site, std::optional<Constant> const& right) {
  Value* const x = site.operand(0);
  OpKind const kind = site.op.kind();
  if (x == site.operand(1)) return kind == OpKind::XorOp ? site.number(0) : x;
  if (!right) return nullptr;
  bool const zero = right->bits == 0;
  bool const ones = right->element == Element::boolean ? right->bits == 1 : right->bits == ~std::uint64_t{0};
  if (kind == OpKind::AndOp) return zero ? site.number(0) : ones ? x : reassociate(site);
  if (kind == OpKind::OrOp) return zero ? x : ones ? site.operand(1) : reassociate(site);
  return zero ? x : ones ? site.builder.same(ir::NotOp{}, {x}) : reassociate(site);
}

Value* extremum(Site& site, bool integers) {
  if (site.operand(0) == site.operand(1)) return site.operand(0);
  return integers ? reassociate(site) : nullptr;
}

Predicate swapped(Predicate predicate) {
  static constexpr Predicate table[] = {Predicate::eq, Predicate::ne, Predicate::gt,
                                        Predicate::ge, Predicate::lt, Predicate::le};
  return table[static_cast<int>(predicate)];
}
Predicate inverse(Predicate predicate) {
  static constexpr Predicate table[] = {Predicate::ne, Predicate::eq, Predicate::ge,
                                        Predicate::gt, Predicate::le, Predicate::lt};
  return table[static_cast<int>(predicate)];
}

Value* compare(Site& site) {
  Element const element = site.operand(0)->type().element();
  auto& predicate = site.op.as<ir::CompareOp>().predicate;
  if (site.operand(0) == site.operand(1) && !is_float(element)) {
    bool const holds = predicate == Predicate::eq || predicate == Predicate::le || predicate == Predicate::ge;
    return site.number(holds ? 1 : 0);
  }
  if (constant_of(*site.operand(0)) && !constant_of(*site.operand(1))) {
    predicate = swapped(predicate);
    Value* const left = site.operand(0);
    site.op.set_operand(0, site.operand(1));
    site.op.set_operand(1, left);
    site.edited = true;
  }
  return nullptr;
}

Value* select(Site& site) {
  if (site.operand(1) == site.operand(2)) return site.operand(1);
  auto const condition = constant_of(*site.operand(0));
  if (condition) return site.operand(condition->bits != 0 ? 1 : 2);
  if (Op* inverted = made_by<ir::NotOp>(site.operand(0)))
    return site.builder.op(ir::SelectOp{}, {inverted->operand(0), site.operand(2), site.operand(1)}, {site.type()})
        .result();
  auto const yes = constant_of(*site.operand(1)), no = constant_of(*site.operand(2));
  if (yes && yes == no) return site.operand(1);
  if (site.type().element() != Element::boolean) return nullptr;
  if (yes && no) return yes->bits != 0 ? site.operand(0) : site.builder.same(ir::NotOp{}, {site.operand(0)});
  return nullptr;
}

/// How many integers or floats in a row convert without loss: casting there and back gives the same value.
bool holds_all_of(Element wide, Element narrow) {
  if (is_float(wide) != is_float(narrow))
    return is_float(wide) && narrow != Element::boolean && info(wide).mantissa >= bits(narrow);
  if (narrow == Element::boolean) return !is_float(wide);
  if (!is_float(wide)) return bits(wide) >= bits(narrow);
  return wide == narrow || wide == Element::f64 || (wide == Element::f32 && narrow != Element::f64) ||
         (is_f8(narrow) && !is_f8(wide));
}

Value* cast(Site& site) {
  Value* const x = site.operand(0);
  if (x->type() == site.type()) return x;
  Op* const inner = made_by<ir::CastOp>(x);
  if (inner == nullptr) return nullptr;
  Value* const source = inner->operand(0);
  // source -> middle -> result, where the middle loses nothing.
  if (!holds_all_of(x->type().element(), source->type().element())) return nullptr;
  if (source->type() == site.type()) return source;
  bool const same_class = is_float(source->type().element()) == is_float(x->type().element());
  return same_class ? site.builder.op(ir::CastOp{}, {source}, {site.type()}).result() : nullptr;
}

Value* bitcast(Site& site) {
  Value* const x = site.operand(0);
  if (x->type() == site.type()) return x;
  Op* const inner = made_by<ir::BitcastOp>(x);
  if (inner == nullptr) return nullptr;
  if (inner->operand(0)->type() == site.type()) return inner->operand(0);
  return site.builder.op(ir::BitcastOp{}, {inner->operand(0)}, {site.type()}).result();
}

Value* invert(Site& site) {
  if (Op* inner = made_by<ir::NotOp>(site.operand(0))) return inner->operand(0);
  Op* const compared = made_by<ir::CompareOp>(site.operand(0));
  if (compared == nullptr) return nullptr;
  Predicate const predicate = compared->as<ir::CompareOp>().predicate;
  bool const total =
      !is_float(compared->operand(0)->type().element()) || predicate == Predicate::eq || predicate == Predicate::ne;
  if (!total) return nullptr;
  return site.builder
      .op(ir::make_op<ir::CompareOp>(inverse(predicate)), {compared->operand(0), compared->operand(1)}, {site.type()})
      .result();
}

}  // namespace

Value* arithmetic(Site& site) {
  Op& op = site.op;
  if (!op.info().has(ir::elementwise)) return nullptr;
  if (Value* value = fold_constants(site)) return value;
  if (op.info().has(ir::commutative) && constant_of(*op.operand(0)) && !constant_of(*op.operand(1))) {
    Value* const left = op.operand(0);
    op.set_operand(0, op.operand(1));
    op.set_operand(1, left);
    site.edited = true;
  }
  bool const integers = !is_float(site.type().element());
  auto const right = op.operand_count() == 2 ? constant_of(*op.operand(1)) : std::nullopt;
  switch (op.kind()) {
    case OpKind::AddOp:
      return add(site, integers, right);
    case OpKind::SubOp:
      return sub(site, integers, right);
    case OpKind::MulOp:
      return mul(site, integers, right);
    case OpKind::DivOp:
      return div(site, integers, right);
    case OpKind::CeilDivOp:
      return is_number(right, 1) ? op.operand(0) : nullptr;
    case OpKind::RemOp:
      return is_number(right, 1) || is_number(right, -1) ? site.number(0) : nullptr;
    case OpKind::AndOp:
    case OpKind::OrOp:
    case OpKind::XorOp:
      return bitwise(site, right);
    case OpKind::ShlOp:
    case OpKind::ShrOp:
      return is_number(right, 0) ? op.operand(0) : nullptr;
    case OpKind::MinOp:
    case OpKind::MaxOp:
      return extremum(site, integers);
    case OpKind::NegOp: {
      Op* const inner = made_by<ir::NegOp>(op.operand(0));
      return inner != nullptr ? inner->operand(0) : nullptr;
    }
    case OpKind::AbsOp: {
      Op* const inner = op.operand(0)->defining_op();
      if (inner != nullptr && inner->is<ir::AbsOp>()) return op.operand(0);
      if (inner != nullptr && inner->is<ir::NegOp>()) return site.builder.same(ir::AbsOp{}, {inner->operand(0)});
      return nullptr;
    }
    case OpKind::NotOp:
      return invert(site);
    case OpKind::CompareOp:
      return compare(site);
    case OpKind::SelectOp:
      return select(site);
    case OpKind::CastOp:
      return cast(site);
    case OpKind::BitcastOp:
      return bitcast(site);
    default:
      return nullptr;
  }
}

}  // namespace tegula::transform::rules
