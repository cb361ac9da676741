// Multiplies matrices.
#pragma once

#include "tegula/dsl/math.hpp"
#include "tegula/dsl/regroup.hpp"

namespace tegula {

/// Asks for a product of floats as tensor cores take them: `dot(a, b, tf32)`.
struct Tf32 {
  static constexpr ir::DotPrecision precision = ir::DotPrecision::tf32;
};
inline constexpr Tf32 tf32;
/// Asks for a product of floats by three products of tensor cores: `dot(a, b, tf32x3)`.
struct Tf32x3 {
  static constexpr ir::DotPrecision precision = ir::DotPrecision::tf32x3;
};
inline constexpr Tf32x3 tf32x3;

namespace detail {

/// Finds the accumulator's element: i32 for integers, f64 for f64, else f32.
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

/// Accepts the names of precisions: tf32, tf32x3.
template <class P>
concept PrecisionName = std::is_same_v<P, Tf32> || std::is_same_v<P, Tf32x3>;

/// Takes a shape as a matrix, or as `batch` matrices.
template <class S>
struct Matrix {
  static constexpr bool holds = false;
  static constexpr std::int64_t batch = 0, rows = 1, columns = 1;
};
template <std::int64_t r, std::int64_t c>
struct Matrix<Shape<r, c>> {
  static constexpr bool holds = true;
  static constexpr std::int64_t batch = 0, rows = r, columns = c;
};
template <std::int64_t n, std::int64_t r, std::int64_t c>
struct Matrix<Shape<n, r, c>> {
  static constexpr bool holds = true;
  static constexpr std::int64_t batch = n, rows = r, columns = c;
};

template <ir::DotPrecision precision, class A, class B>
struct DotFacts {
  using a = Matrix<shape_t<A>>;
  using b = Matrix<shape_t<B>>;
  using element = element_t<A>;
  using accumulator = accumulator_t<element>;
  using matrix = Shape<a::rows, b::columns>;
  using shape = std::conditional_t<a::batch == 0, matrix, Shape<a::batch == 0 ? 1 : a::batch, a::rows, b::columns>>;
  static constexpr bool matrices = a::holds && b::holds && a::batch == b::batch;
  static constexpr bool multiplied = is_multiplied(element_of<element>::value);
  static constexpr bool together = multiply_together(element_of<element>::value, element_of<element_t<B>>::value);
  static constexpr bool precision_fits = precision == ir::DotPrecision::full || std::is_same_v<element, float>;
  static constexpr bool holds = matrices && a::columns == b::rows && together && precision_fits && !named_recipe<A> &&
                                !named_recipe<B> && !is_invalid<A> && !is_invalid<B>;
};

template <ir::DotPrecision precision, class A, class B>
constexpr void check_dot() {
  using F = DotFacts<precision, A, B>;
  constexpr bool used_once = !named_recipe<A> && !named_recipe<B>;
  constexpr bool matrices = F::matrices;
  constexpr bool multiplied = F::multiplied;
  constexpr bool together = !multiplied || F::together;  // one mistake, one error
  constexpr bool precision_fits = F::precision_fits;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  if constexpr (used_once && !is_invalid<A> && !is_invalid<B>) {
    static_assert(
        matrices,
        "dot: both operands must be matrices, or as many matrices (rank 3); a load of lower rank takes one element of "
        "each leading axis");
    if constexpr (matrices)
      static_assert(inner_dimensions_agree<F::a::columns, F::b::rows>,
                    "dot: the first operand is M x K and the second K x N, so the two K must be equal");
    static_assert(multiplied,
                  "dot: the elements of a product must be std::int8_t, std::uint8_t, e4m3, e5m2, f16, bf16, float and "
                  "double: use cast<T>(...)");
    static_assert(together,
                  "dot: the operands must have the same element, and only integers of 8 bits and floats of 8 bits go "
                  "together: use cast<T>(...)");
    static_assert(
        precision_fits,
        "dot: the elements must be float for the precisions tf32 and tf32x3; leave them out for other elements");
  }
}

/// Multiplies the matrices of two batches one by one, from `at` on.
template <ir::DotPrecision precision, std::int64_t at, class A, class B, class C>
auto product_of_batch(A const& a, B const& b, C const& c, location where) {
  using F = DotFacts<precision, A, B>;
  constexpr auto taken = [](auto const& batch, location line) {
    using X = bare<decltype(batch)>;
    using S = Matrix<shape_t<X>>;
    auto one = sliced<Shape<1, S::rows, S::columns>, X const&>(batch, {at, 0, 0}, line);
    return squeezed<decltype(one), 0>(one, line);
  };
  auto x = taken(a, where);
  auto y = taken(b, where);
  auto z = taken(c, where);
  Dot<typename F::accumulator, typename F::matrix, decltype(x), decltype(y), decltype(z)> one(
      std::move(x), std::move(y), std::move(z), precision, where);
  auto const first = let(expanded<decltype(one), 0>(one, where), where);
  if constexpr (at + 1 == F::a::batch)
    return first;
  else
    return let(concatenate(first, product_of_batch<precision, at + 1>(a, b, c, where), Axis<0>(), where), where);
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
    static_assert(
        element,
        "dot: the accumulator's element must be float (double for double operands, std::int32_t for integers)");
    static_assert(extents, "dot: the accumulator must be M x N");
  }
  if constexpr (!F::holds || !element || !extents || !used_once || is_invalid<C>)
    return Invalid<typename F::accumulator, typename F::shape>();
  else if constexpr (F::a::batch == 0)
    return Dot<typename F::accumulator, typename F::shape, stored_t<A>, stored_t<B>, stored_t<C>>(
        stored(a), stored(b), stored(c), precision, where);
  else
    return product_of_batch<precision, 0>(let(static_cast<A&&>(a), where), let(static_cast<B&&>(b), where),
                                          let(static_cast<C&&>(c), where), where);
}
template <ir::DotPrecision precision, class A, class B>
constexpr auto product(std::remove_reference_t<A>& a, std::remove_reference_t<B>& b, location where) {
  using F = DotFacts<precision, A, B>;
  if constexpr (!F::holds) {
    return Invalid<typename F::accumulator, typename F::shape>();
  } else if constexpr (F::a::batch == 0) {
    return Dot<typename F::accumulator, typename F::shape, stored_t<A>, stored_t<B>, LiteralRef>(
        stored(a), stored(b), LiteralRef(), precision, where);
  } else {
    auto start = zeros<typename F::accumulator>(typename F::shape());
    return product<precision, A, B, decltype(start)>(a, b, start, where);
  }
}

}  // namespace detail

/// Multiplies a (M, K) by b (K, N):
/// - f16, bf16 and f32 give f32, f64 gives f64;
/// - std::int8_t and std::uint8_t, also with each other, give std::int32_t, which wraps;
/// - e4m3 and e5m2, also with each other, give f32.
///
/// Within one dot tensor cores keep at least 14 bits of fraction of a sum of e4m3 or e5m2. Where K is long, write
/// `acc = acc + dot(a, b)` in the loop, not `acc = dot(a, b, acc)`. It adds the product of each step in f32. Operands
/// of rank 3, (B, M, K) and (B, K, N), are B products.
template <detail::TileLike A, detail::TileLike B>
constexpr auto dot(A&& a, B&& b, location where = location::current()) {
  detail::check_dot<ir::DotPrecision::full, A, B>();
  return detail::product<ir::DotPrecision::full, A, B>(a, b, where);
}
/// Returns accumulator + a * b.
template <detail::TileLike A, detail::TileLike B, detail::TileLike C>
constexpr auto dot(A&& a, B&& b, C&& accumulator, location where = location::current()) {
  detail::check_dot<ir::DotPrecision::full, A, B>();
  return detail::product<ir::DotPrecision::full, A, B, C>(a, b, accumulator, where);
}
/// Multiplies floats on tensor cores, a precision by name:
///
/// - `tf32`: of each element at least the upper 10 bits of the fraction count. The host keeps the others, Hopper and
///   the simulator drop them.
/// - `tf32x3`: three such products make up one. They multiply the upper bits of both elements, and the upper bits of
///   each with the lower bits of the other. An element's relative error is at most 2^-19. Where an operand is infinite,
///   a result may be NaN in place of infinity.
///
/// Sums are f32. Without a name, products of float keep all bits everywhere and do not run on tensor cores.
template <detail::TileLike A, detail::TileLike B, detail::PrecisionName P>
constexpr auto dot(A&& a, B&& b, P, location where = location::current()) {
  detail::check_dot<P::precision, A, B>();
  return detail::product<P::precision, A, B>(a, b, where);
}
template <detail::TileLike A, detail::TileLike B, detail::TileLike C, detail::PrecisionName P>
constexpr auto dot(A&& a, B&& b, C&& accumulator, P, location where = location::current()) {
  detail::check_dot<P::precision, A, B>();
  return detail::product<P::precision, A, B, C>(a, b, accumulator, where);
}

}  // namespace tegula
