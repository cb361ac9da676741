// Provides elementwise functions of tiles and run-time scalars; host.hpp has the same names for host<T>.
#pragma once

#include "tegula/dsl/operators.hpp"

namespace tegula {

namespace detail {

template <class T, class S, class A>
class Cast : public Recipe<T, S> {
 public:
  constexpr Cast(A&& operand, location where) : operand_(static_cast<A&&>(operand)), where_(where) {}
  [[nodiscard]] location where() const { return where_; }
  trace::Id record(trace::Recorder& recorder, location) {
    trace::Id const a = operand_.record(recorder, where_);
    return recorder.emit(ir::CastOp(), {a}, tile_type<T, S>, where_);
  }

 private:
  A operand_;
  location where_;
};

/// Finds the shape of a select; scalars and numbers fit any shape.
template <class... X>
struct SelectShape {
  using type = Shape<1>;
  static constexpr bool fits = true;
};
template <class X, class... Rest>
struct SelectShape<X, Rest...> : SelectShape<Rest...> {};
template <TileLike X, class... Rest>
struct SelectShape<X, Rest...> {
  static constexpr bool last = !(TileLike<Rest> || ...);
  using rest = std::conditional_t<last, shape_t<X>, typename SelectShape<Rest...>::type>;
  static constexpr bool fits = SelectShape<Rest...>::fits && broadcasts(shape_t<X>::list, rest::list);
  using type = broadcast_shape<shape_t<X>, rest>;
};

template <class X>
constexpr bool floating_operand() {
  return is_float(element_of<typename ElementOrFloat<X>::type>::value);
}

template <class A, class Op>
constexpr auto float_function(std::remove_reference_t<A>& a, location where) {
  constexpr bool wide = unary_problem<A>(Domain::equal) != Problem::narrow;
  constexpr bool floating = floating_operand<A>() || TensorLike<A> || is_invalid<A> || !wide;
  check_operands<unary_problem<A>(Domain::any), A, A>();
  static_assert(wide, TEGULA_NARROW_ELEMENT);
  static_assert(floating,
                "the elements of this function must be floating (f16, bf16, float, double): use cast<T>(...)");
  return unary<A>(Op(), a, where);
}

}  // namespace detail

/// Computes e^a of floating elements, as all functions below element by element; f16 and bf16 are computed in f32 and
/// rounded once.
template <detail::Traced A>
constexpr auto exp(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::ExpOp>(a, where);
}
template <detail::Traced A>
constexpr auto exp2(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::Exp2Op>(a, where);
}
template <detail::Traced A>
constexpr auto log(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::LogOp>(a, where);
}
template <detail::Traced A>
constexpr auto log2(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::Log2Op>(a, where);
}
template <detail::Traced A>
constexpr auto sqrt(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::SqrtOp>(a, where);
}
template <detail::Traced A>
constexpr auto rsqrt(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::RsqrtOp>(a, where);
}
template <detail::Traced A>
constexpr auto round(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::RoundOp>(a, where);
}
template <detail::Traced A>
constexpr auto floor(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::FloorOp>(a, where);
}
template <detail::Traced A>
constexpr auto ceil(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::CeilOp>(a, where);
}
template <detail::Traced A>
constexpr auto trunc(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::TruncOp>(a, where);
}
template <detail::Traced A>
constexpr auto sin(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::SinOp>(a, where);
}
template <detail::Traced A>
constexpr auto cos(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::CosOp>(a, where);
}
template <detail::Traced A>
constexpr auto tanh(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::TanhOp>(a, where);
}
/// Computes tanh by the instruction of the GPU, with an error of 2^-11 of the result for elements of at most 32 bits.
/// f64 and the CPU compute tanh. A sum such as 1 + fast_tanh(a) has an error of 2^-11, also where it is near 0.
template <detail::Traced A>
constexpr auto fast_tanh(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::FastTanhOp>(a, where);
}
template <detail::Traced A>
constexpr auto erf(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::ErfOp>(a, where);
}
template <detail::Traced A>
constexpr auto exp10(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::Exp10Op>(a, where);
}
/// Computes exp(a) - 1, which keeps its digits near 0.
template <detail::Traced A>
constexpr auto expm1(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::Expm1Op>(a, where);
}
template <detail::Traced A>
constexpr auto log10(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::Log10Op>(a, where);
}
template <detail::Traced A>
constexpr auto log1p(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::Log1pOp>(a, where);
}
template <detail::Traced A>
constexpr auto asin(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::AsinOp>(a, where);
}
template <detail::Traced A>
constexpr auto acos(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::AcosOp>(a, where);
}
template <detail::Traced A>
constexpr auto atan(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::AtanOp>(a, where);
}
template <detail::Traced A>
constexpr auto sinh(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::SinhOp>(a, where);
}
template <detail::Traced A>
constexpr auto cosh(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::CoshOp>(a, where);
}
template <detail::Traced A>
constexpr auto atanh(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::AtanhOp>(a, where);
}
/// Computes 1 / (1 + exp(-a)).
template <detail::Traced A>
constexpr auto sigmoid(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::SigmoidOp>(a, where);
}
template <detail::Traced A>
constexpr auto cbrt(A&& a, location where = location::current()) {
  return detail::float_function<A, ir::CbrtOp>(a, where);
}

/// Computes a to the power of b, element by element, with C's special cases. x^0 and 1^x are 1; a negative number to a
/// power that is not an integer is NaN.
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto pow(A&& a, B&& b, location where = location::current()) {
  detail::check_operands<detail::operand_problem<detail::Domain::floats, A, B>(), A, B>();
  return detail::binary<detail::Domain::floats, void, ir::PowOp, A, B>({}, a, b, where);
}
/// Computes the remainder of a / b, exactly, with the sign of a; NaN of an infinite a and of b = 0.
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto fmod(A&& a, B&& b, location where = location::current()) {
  detail::check_operands<detail::operand_problem<detail::Domain::floats, A, B>(), A, B>();
  return detail::binary<detail::Domain::floats, void, ir::FmodOp, A, B>({}, a, b, where);
}
/// Computes the angle of the point (x, y), from -pi to pi.
template <class Y, class X>
requires detail::TracedPair<Y, X>
constexpr auto atan2(Y&& y, X&& x, location where = location::current()) {
  detail::check_operands<detail::operand_problem<detail::Domain::floats, Y, X>(), Y, X>();
  return detail::binary<detail::Domain::floats, void, ir::Atan2Op, Y, X>({}, y, x, where);
}

/// Returns the upper half of the product of two integers, element by element: of 32 bits, bits 32 to 63 of it.
template <class A, class B>
requires detail::TracedPair<A, B>
constexpr auto multiply_high(A&& a, B&& b, location where = location::current()) {
  detail::check_operands<detail::operand_problem<detail::Domain::integers, A, B>(), A, B>();
  return detail::binary<detail::Domain::integers, void, ir::MultiplyHighOp, A, B>({}, a, b, where);
}

template <class A>
requires detail::Traced<A>
constexpr auto(abs)(A&& a, location where = location::current()) {
  detail::check_operands<detail::unary_problem<A>(detail::Domain::numbers), A, A>();
  return detail::unary<A>(ir::AbsOp(), a, where);
}

/// Returns the maximum of two, element by element; of a NaN and a number, the number.
template <class A, class B>
requires(detail::TracedPair<A, B> && !detail::AxisLike<B>) constexpr auto(max)(A&& a, B&& b,
                                                                               location where = location::current()) {
  detail::check_operands<detail::operand_problem<detail::Domain::ordered, A, B>(), A, B>();
  return detail::binary<detail::Domain::ordered, void, ir::MaxOp, A, B>({}, a, b, where);
}
/// Returns the minimum of two, element by element; of a NaN and a number, the number.
template <class A, class B>
requires(detail::TracedPair<A, B> && !detail::AxisLike<B>) constexpr auto(min)(A&& a, B&& b,
                                                                               location where = location::current()) {
  detail::check_operands<detail::operand_problem<detail::Domain::ordered, A, B>(), A, B>();
  return detail::binary<detail::Domain::ordered, void, ir::MinOp, A, B>({}, a, b, where);
}

/// Converts to another element, the only way from one element to another:
/// - to a float: rounded to nearest even (to e4m3 and e5m2 saturated, infinities too),
/// - a float to an integer: truncated and saturated,
/// - an integer to an integer: cut to its low bits,
/// - bool: 0 or 1.
template <ElementType T, class A>
requires detail::Traced<A>
constexpr auto cast(A&& a, location where = location::current()) {
  using From = typename detail::ElementOrFloat<A>::type;
  constexpr bool to_bool = std::is_same_v<T, bool> && !std::is_same_v<From, bool>;
  constexpr bool number = !to_bool;
  detail::check_operands<detail::unary_problem<A>(detail::Domain::any), A, A>();
  static_assert(number, "cast: the new element must not be bool; compare, for instance x != 0");
  if constexpr (detail::named_recipe<A> || detail::TensorLike<A> || detail::is_invalid<A> || to_bool) {
    return detail::Invalid<T, typename detail::SelectShape<A>::type>();
  } else if constexpr (detail::TileLike<A>) {
    return detail::Cast<T, detail::shape_t<A>, detail::stored_t<A>>(detail::stored(a), where);
  } else {
    auto& recorder = trace::Recorder::current("cast", where);
    return scalar<T>(recorder.handle(recorder.adapt(recorder.use(a.handle(), where), detail::scalar_type<T>, where)));
  }
}

/// Returns condition ? a : b, element by element. One of a and b is a tile (or, with a traced bool, a scalar).
template <class C, class A, class B>
requires(detail::Traced<C>&& detail::TracedPair<A, B>) constexpr auto select(C&& condition, A&& a, B&& b,
                                                                             location where = location::current()) {
  constexpr detail::Problem problem = detail::operand_problem<detail::Domain::any, A, B>();
  constexpr bool mask = std::is_same_v<typename detail::ElementOrFloat<C>::type, bool> || detail::is_invalid<C>;
  constexpr bool used_once = !detail::named_recipe<C>;
  constexpr bool invalid = detail::is_invalid<A> || detail::is_invalid<B> || detail::is_invalid<C>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(mask, "select: the condition must be a mask (a tile of bool) or a traced bool");
  detail::check_operands<problem, A, B>();
  using T = typename detail::OperandElement<A, B>::type;
  if constexpr (problem != detail::Problem::none || !mask || !used_once || invalid) {
    return detail::Invalid<std::conditional_t<std::is_void_v<T>, float, T>,
                           typename detail::SelectShape<C, A, B>::type>();
  } else if constexpr (detail::TileLike<A> || detail::TileLike<B> || detail::TileLike<C>) {
    using S = typename detail::SelectShape<C, A, B>::type;
    constexpr bool fits = detail::SelectShape<C, A, B>::fits;
    static_assert(fits,
                  "select: the shapes of the condition and of the values must be equal, and only extent 1 broadcasts");
    if constexpr (fits)
      return detail::Select<T, S, detail::stored_t<C>, detail::stored_t<A>, detail::stored_t<B>>(
          detail::stored(condition), detail::stored(a), detail::stored(b), where);
    else
      return detail::Invalid<T, S>();
  } else {
    auto& recorder = trace::Recorder::current("select", where);
    trace::Id const c = recorder.use(condition.handle(), where);
    trace::Id const lhs = detail::scalar_id<T>(recorder, a, where);
    trace::Id const rhs = detail::scalar_id<T>(recorder, b, where);
    return scalar<T>(
        recorder.handle(recorder.emit_scalar(ir::SelectOp(), {c, lhs, rhs}, detail::scalar_type<T>, where)));
  }
}

}  // namespace tegula
