// Multiplies matrices.
#pragma once

#include "tegula/dsl/math.hpp"

namespace tegula {

/// Asks for a product of floats as tensor cores take them: `dot(a, b, tf32)`.
struct Tf32 {};
inline constexpr Tf32 tf32;

namespace detail {

/// Gives the accumulator's element: i32 for integers, f64 for f64, else f32.
template <class T>
using accumulator_t = std::conditional_t<std::is_integral_v<T>, std::int32_t,
                                         std::conditional_t<std::is_same_v<T, double>, double, float>>;

template <class T, class S, class A, class B, class C>
class Dot : public Recipe<T, S> {
 public:
  constexpr Dot(A&& a, B&& b, C&& c, ir::DotPrecision precision, location where)
      : a_(static_cast<A&&>(a)),
        b_(static_cast<B&&>(b)),
        c_(static_cast<C&&>(c)),
        precision_(precision),
        where_(where) {}
  [[nodiscard]] location where() const { return where_; }
  trace::Id record(trace::Recorder& recorder, location) {
    trace::Id const a = a_.record(recorder, where_);
    trace::Id const b = b_.record(recorder, where_);
    trace::Id const c = record_as<T, S>(recorder, c_, where_);
    return recorder.emit(ir::make_op<ir::DotOp>(precision_), {a, b, c}, tile_type<T, S>, where_);
  }

 private:
  A a_;
  B b_;
  C c_;
  ir::DotPrecision precision_;
  location where_;
};

template <class S>
struct Matrix {
  static constexpr bool holds = false;
  static constexpr std::int64_t rows = 1, columns = 1;
};
template <std::int64_t r, std::int64_t c>
struct Matrix<Shape<r, c>> {
  static constexpr bool holds = true;
  static constexpr std::int64_t rows = r, columns = c;
};

template <class A, class B>
inline constexpr bool elements_go_together = same_element<A, B> ||
                                             (is_f8(element_of<A>::value) && is_f8(element_of<B>::value));

template <ir::DotPrecision precision, class A, class B>
struct DotFacts {
  using a = Matrix<shape_t<A>>;
  using b = Matrix<shape_t<B>>;
  using element = element_t<A>;
  using accumulator = accumulator_t<element>;
  using shape = Shape<a::rows, b::columns>;
  static constexpr bool multiplied = is_float(element_of<element>::value) || std::is_same_v<element, std::int8_t>;
  static constexpr bool precision_fits = precision == ir::DotPrecision::full || std::is_same_v<element, float>;
  static constexpr bool holds = a::holds && b::holds && a::columns == b::rows &&
                                elements_go_together<element, element_t<B>> && multiplied && precision_fits &&
                                !named_recipe<A> && !named_recipe<B> && !is_invalid<A> && !is_invalid<B>;
};

template <ir::DotPrecision precision, class A, class B>
constexpr void check_dot() {
  using F = DotFacts<precision, A, B>;
  constexpr bool used_once = !named_recipe<A> && !named_recipe<B>;
  constexpr bool matrices = F::a::holds && F::b::holds;
  constexpr bool multiplied = F::multiplied;
  constexpr bool precision_fits = F::precision_fits;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  if constexpr (used_once && !is_invalid<A> && !is_invalid<B>) {
    static_assert(matrices,
                  "dot: both operands are matrices; a load of lower rank takes one element of each leading axis");
    if constexpr (matrices)
      static_assert(inner_dimensions_agree<F::a::columns, F::b::rows>,
                    "dot: the first operand is M x K and the second K x N, but the two K differ");
    static_assert(elements_go_together<element_t<A>, element_t<B>>,
                  "dot: the operands have different elements, and only e4m3 and e5m2 go together: use cast<T>(...)");
    static_assert(
        multiplied,
        "dot: the elements of a product are std::int8_t, e4m3, e5m2, f16, bf16, float and double: use cast<T>(...)");
    static_assert(precision_fits, "dot: tf32 is a precision for float; leave it out for other elements");
  }
}

template <ir::DotPrecision precision, class A, class B>
constexpr auto product(std::remove_reference_t<A>& a, std::remove_reference_t<B>& b, location where) {
  using F = DotFacts<precision, A, B>;
  if constexpr (F::holds)
    return Dot<typename F::accumulator, typename F::shape, stored_t<A>, stored_t<B>, LiteralRef>(
        stored(a), stored(b), LiteralRef(), precision, where);
  else
    return Invalid<typename F::accumulator, typename F::shape>();
}

template <ir::DotPrecision precision, class A, class B, class C>
constexpr auto product(std::remove_reference_t<A>& a, std::remove_reference_t<B>& b, std::remove_reference_t<C>& c,
                       location where) {
  using F = DotFacts<precision, A, B>;
  constexpr bool element = std::is_same_v<element_t<C>, typename F::accumulator>;
  constexpr bool extents = std::is_same_v<shape_t<C>, typename F::shape>;
  constexpr bool used_once = !named_recipe<C>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  if constexpr (F::holds && used_once && !is_invalid<C>) {
    static_assert(element,
                  "dot: the accumulator's element is float (double for double operands, std::int32_t for std::int8_t)");
    static_assert(extents, "dot: the accumulator is not M x N");
  }
  if constexpr (F::holds && element && extents && used_once && !is_invalid<C>)
    return Dot<typename F::accumulator, typename F::shape, stored_t<A>, stored_t<B>, stored_t<C>>(
        stored(a), stored(b), stored(c), precision, where);
  else
    return Invalid<typename F::accumulator, typename F::shape>();
}

}  // namespace detail

/// Multiplies a (M, K) by b (K, N): f16, bf16 and f32 give f32, f64 gives f64, std::int8_t gives std::int32_t, which
/// wraps; e4m3 and e5m2, also with each other, give f32. Within one dot tensor cores keep at least 14 bits of fraction
/// of a sum of e4m3 or e5m2. Where K is long, write `acc = acc + dot(a, b)` in the loop in place of
/// `acc = dot(a, b, acc)`: it adds the product of each step in f32.
template <detail::TileLike A, detail::TileLike B>
constexpr auto dot(A&& a, B&& b, location where = location::current()) {
  detail::check_dot<ir::DotPrecision::full, A, B>();
  return detail::product<ir::DotPrecision::full, A, B>(a, b, where);
}
/// Gives accumulator + a * b.
template <detail::TileLike A, detail::TileLike B, detail::TileLike C>
constexpr auto dot(A&& a, B&& b, C&& accumulator, location where = location::current()) {
  detail::check_dot<ir::DotPrecision::full, A, B>();
  return detail::product<ir::DotPrecision::full, A, B, C>(a, b, accumulator, where);
}
/// Multiplies floats on tensor cores: of each element at least the upper 10 bits of the fraction count. Hopper and the
/// simulator drop the others, the host keeps them; sums are f32. Without tf32, products of float keep all bits
/// everywhere and do not run on tensor cores.
template <detail::TileLike A, detail::TileLike B>
constexpr auto dot(A&& a, B&& b, Tf32, location where = location::current()) {
  detail::check_dot<ir::DotPrecision::tf32, A, B>();
  return detail::product<ir::DotPrecision::tf32, A, B>(a, b, where);
}
template <detail::TileLike A, detail::TileLike B, detail::TileLike C>
constexpr auto dot(A&& a, B&& b, C&& accumulator, Tf32, location where = location::current()) {
  detail::check_dot<ir::DotPrecision::tf32, A, B>();
  return detail::product<ir::DotPrecision::tf32, A, B, C>(a, b, accumulator, where);
}

}  // namespace tegula
