#include "transform/common/fold.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "ir/core/match.hpp"
#include "tegula/math/functions.hpp"

namespace tegula::transform {
namespace {

using ir::Constant;
using ir::on;
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
MaybeConstant fold_integers(ir::Op const& op, T a, T b, Element element) {
  auto const number = [&](T value) { return integer(element, value); };
  return ir::match<MaybeConstant>(
      op, on<ir::AddOp>([&] { return number(math::wrapping_add(a, b)); }),
      on<ir::SubOp>([&] { return number(math::wrapping_sub(a, b)); }),
      on<ir::MulOp>([&] { return number(math::wrapping_mul(a, b)); }),
      on<ir::DivOp>([&] { return number(math::div(a, b)); }), on<ir::RemOp>([&] { return number(math::rem(a, b)); }),
      on<ir::CeilDivOp>([&] { return b > T{0} && a < T{0} ? std::nullopt : number(math::ceil_div(a, b)); }),
      on<ir::MinOp>([&] { return number(std::min(a, b)); }), on<ir::MaxOp>([&] { return number(std::max(a, b)); }),
      on<ir::AndOp>([&] { return number(a & b); }), on<ir::OrOp>([&] { return number(a | b); }),
      on<ir::XorOp>([&] { return number(a ^ b); }), on<ir::ShlOp>([&] { return number(math::shift_left(a, b)); }),
      on<ir::ShrOp>([&] { return number(math::shift_right(a, b)); }),
      on<ir::NegOp>([&] { return number(math::wrapping_sub(T{0}, a)); }),
      on<ir::NotOp>([&] { return element == Element::boolean ? boolean(a == 0) : number(~a); }),
      on<ir::AbsOp>([&] { return number(a < T{0} ? math::wrapping_sub(T{0}, a) : a); }));
}

MaybeConstant fold_floats(ir::Op const& op, double a, double b, Element element) {
  auto const number = [&](double value) { return rounded(element, value); };
  return ir::match<MaybeConstant>(
      op, on<ir::AddOp>([&] { return number(a + b); }), on<ir::SubOp>([&] { return number(a - b); }),
      on<ir::MulOp>([&] { return number(a * b); }), on<ir::DivOp>([&] { return number(a / b); }), on<ir::MinOp>([&] {
        return number(std::isnan(a) ? b : std::isnan(b) ? a : b < a ? b : a);
      }),
      on<ir::MaxOp>([&] {
        return number(std::isnan(a) ? b : std::isnan(b) ? a : b > a ? b : a);
      }),
#define TEGULA_EXACT(op, name, ...) on<ir::op>([&] { return number(math::name(a)); }),
#include "tegula/math/elementary.def"
      on<ir::NegOp>([&] { return number(-a); }), on<ir::AbsOp>([&] { return number(std::fabs(a)); }));
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
  if (from.element == to) return from;
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
  if (op.is<ir::SelectOp>()) return a.bits != 0 ? operands[1] : operands[2];
  if (op.is<ir::CastOp>()) return convert(a, result);
  if (op.is<ir::BitcastOp>()) return same_bits(a, result);
  if (op.is<ir::CompareOp>()) {
    ir::Predicate const predicate = op.as<ir::CompareOp>().predicate;
    if (is_float(a.element)) return boolean(holds(predicate, ir::to_double(a), ir::to_double(b)));
    if (a.element == Element::u64) return boolean(holds(predicate, a.bits, b.bits));
    return boolean(holds(predicate, static_cast<std::int64_t>(a.bits), static_cast<std::int64_t>(b.bits)));
  }
  if (op.is<ir::FmaOp>()) {
    double const x = ir::to_double(a), y = ir::to_double(b), z = ir::to_double(operands[2]);
    if (result == Element::f64) return rounded(result, std::fma(x, y, z));
    return rounded(result, std::fma(static_cast<float>(x), static_cast<float>(y), static_cast<float>(z)));
  }
  if (is_float(a.element)) return fold_floats(op, ir::to_double(a), ir::to_double(b), result);
  if (a.element == Element::i32)
    return fold_integers(op, static_cast<std::int32_t>(a.bits), static_cast<std::int32_t>(b.bits), result);
  if (a.element == Element::u32)
    return fold_integers(op, static_cast<std::uint32_t>(a.bits), static_cast<std::uint32_t>(b.bits), result);
  if (a.element == Element::u64) return fold_integers(op, a.bits, b.bits, result);
  return fold_integers(op, static_cast<std::int64_t>(a.bits), static_cast<std::int64_t>(b.bits), result);
}

}  // namespace tegula::transform
