#include "transform/common/fold.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "tegula/math/functions.hpp"

namespace tegula::transform {
namespace {

using ir::Constant;
using ir::OpKind;
using MaybeConstant = std::optional<Constant>;

/// Computes f32 and narrower floats in double and rounds once more. For + - * / sqrt this equals rounding the exact
/// value once (53 >= 2 * 24 + 2).
MaybeConstant rounded(Element element, double value) {
  if (std::isnan(value)) return std::nullopt;
  return ir::make_constant(element, value);
}

template <class T>
MaybeConstant integer(Element element, T value) {
  return ir::make_constant(element, static_cast<std::int64_t>(value));  // which wraps
}
MaybeConstant boolean(bool value) { return Constant{Element::boolean, value ? 1U : 0U}; }

/// T is the type of the element's width; booleans are 0 and 1 of the wider one.
template <class T>
MaybeConstant fold_integers(OpKind kind, T a, T b, Element element) {
  switch (kind) {
    case OpKind::AddOp:
      return integer(element, math::wrapping_add(a, b));
    case OpKind::SubOp:
      return integer(element, math::wrapping_sub(a, b));
    case OpKind::MulOp:
      return integer(element, math::wrapping_mul(a, b));
    case OpKind::DivOp:
      return integer(element, math::div(a, b));
    case OpKind::RemOp:
      return integer(element, math::rem(a, b));
    case OpKind::CeilDivOp:
      if (b > T{0} && a < T{0}) return std::nullopt;
      return integer(element, math::ceil_div(a, b));
    case OpKind::MinOp:
      return integer(element, std::min(a, b));
    case OpKind::MaxOp:
      return integer(element, std::max(a, b));
    case OpKind::AndOp:
      return integer(element, a & b);
    case OpKind::OrOp:
      return integer(element, a | b);
    case OpKind::XorOp:
      return integer(element, a ^ b);
    case OpKind::ShlOp:
      return integer(element, math::shift_left(a, b));
    case OpKind::ShrOp:
      return integer(element, math::shift_right(a, b));
    case OpKind::NegOp:
      return integer(element, math::wrapping_sub(T{0}, a));
    case OpKind::NotOp:
      return element == Element::boolean ? boolean(a == 0) : integer(element, ~a);
    case OpKind::AbsOp:
      return integer(element, a < T{0} ? math::wrapping_sub(T{0}, a) : a);
    default:
      return std::nullopt;
  }
}

MaybeConstant fold_floats(OpKind kind, double a, double b, Element element) {
  switch (kind) {
    case OpKind::AddOp:
      return rounded(element, a + b);
    case OpKind::SubOp:
      return rounded(element, a - b);
    case OpKind::MulOp:
      return rounded(element, a * b);
    case OpKind::DivOp:
      return rounded(element, a / b);
    case OpKind::MinOp:
      return rounded(element, std::isnan(a) ? b : std::isnan(b) ? a : b < a ? b : a);
    case OpKind::MaxOp:
      return rounded(element, std::isnan(a) ? b : std::isnan(b) ? a : b > a ? b : a);
    case OpKind::NegOp:
      return rounded(element, -a);
    case OpKind::AbsOp:
      return rounded(element, std::fabs(a));
#define TEGULA_EXACT(op, name, ...) \
  case OpKind::op:                  \
    return rounded(element, math::name(a));
#include "tegula/math/elementary.def"
    default:
      return std::nullopt;
  }
}

template <class T>
bool holds(ir::Predicate predicate, T a, T b) {
  switch (predicate) {
    case ir::Predicate::eq:
      return a == b;
    case ir::Predicate::ne:
      return a != b;
    case ir::Predicate::lt:
      return a < b;
    case ir::Predicate::le:
      return a <= b;
    case ir::Predicate::gt:
      return a > b;
    case ir::Predicate::ge:
      return a >= b;
  }
  return false;
}

MaybeConstant convert(Constant from, Element to) {
  if (is_float(from.element)) {
    double const value = ir::to_double(from);
    if (is_float(to)) return rounded(to, value);
    if (std::isnan(value)) return ir::make_constant(to, std::int64_t{0});
    // The maximum of i64 is not a double; one more is.
    if (value >= std::ldexp(1.0, bits(to) - (is_signed(to) ? 1 : 0))) return ir::make_constant(to, max_integer(to));
    if (value < static_cast<double>(min_integer(to))) return ir::make_constant(to, min_integer(to));
    return ir::make_constant(to, value);
  }
  if (from.element == Element::u64 && is_float(to) && from.bits >> 63 != 0) return std::nullopt;
  auto const value = static_cast<std::int64_t>(from.bits);
  if (!is_float(to)) return integer(to, value);
  if (to == Element::f32) return Constant{to, std::bit_cast<std::uint32_t>(static_cast<float>(value))};
  constexpr std::int64_t exact = std::int64_t{1} << 53;
  if (to != Element::f64 && (value > exact || value < -exact)) return std::nullopt;  // would round twice
  return ir::make_constant(to, static_cast<double>(value));
}

MaybeConstant same_bits(Constant from, Element to) {
  std::uint64_t const mask =
      bits(from.element) == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << bits(from.element)) - 1;
  std::uint64_t const raw = from.bits & mask;
  return is_float(to) ? MaybeConstant(Constant{to, raw}) : integer(to, raw);
}

}  // namespace

MaybeConstant fold(ir::Op const& op, std::span<Constant const> operands, Element result) {
  if (!op.is(ir::Family::elementwise) || operands.empty()) return std::nullopt;
  Constant const a = operands[0];
  Constant const b = operands.size() > 1 ? operands[1] : a;
  switch (op.kind()) {
    case OpKind::SelectOp:
      return a.bits != 0 ? operands[1] : operands[2];
    case OpKind::FmaOp: {
      double const x = ir::to_double(a), y = ir::to_double(b), z = ir::to_double(operands[2]);
      if (result == Element::f64) return rounded(result, std::fma(x, y, z));
      return rounded(result, std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)));
    }
    case OpKind::CastOp:
      return convert(a, result);
    case OpKind::BitcastOp:
      return same_bits(a, result);
    case OpKind::CompareOp: {
      ir::Predicate const predicate = op.as<ir::CompareOp>().predicate;
      if (is_float(a.element)) return boolean(holds(predicate, ir::to_double(a), ir::to_double(b)));
      if (a.element == Element::u64) return boolean(holds(predicate, a.bits, b.bits));
      return boolean(holds(predicate, static_cast<std::int64_t>(a.bits), static_cast<std::int64_t>(b.bits)));
    }
    default:
      break;
  }
  if (is_float(a.element)) return fold_floats(op.kind(), ir::to_double(a), ir::to_double(b), result);
  if (a.element == Element::boolean && op.kind() != OpKind::NotOp && op.kind() != OpKind::AndOp &&
      op.kind() != OpKind::OrOp && op.kind() != OpKind::XorOp)
    return std::nullopt;
  if (a.element == Element::i32)
    return fold_integers(op.kind(), static_cast<std::int32_t>(a.bits), static_cast<std::int32_t>(b.bits), result);
  if (a.element == Element::u32)
    return fold_integers(op.kind(), static_cast<std::uint32_t>(a.bits), static_cast<std::uint32_t>(b.bits), result);
  if (a.element == Element::u64) return fold_integers(op.kind(), a.bits, b.bits, result);
  return fold_integers(op.kind(), static_cast<std::int64_t>(a.bits), static_cast<std::int64_t>(b.bits), result);
}

}  // namespace tegula::transform
