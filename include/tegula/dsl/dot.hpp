// Matrix products.
#pragma once

#include "tegula/dsl/math.hpp"

namespace tegula {

namespace detail {

/// The accumulator's element: f64 for f64, else f32.
template <class T>
using accumulator_t = std::conditional_t<std::is_same_v<T, double>, double, float>;

template <class T, class S, class A, class B, class C>
class Dot : public Recipe<T, S> {
 public:
  constexpr Dot(A&& a, B&& b, C&& c, location where)
      : a_(static_cast<A&&>(a)), b_(static_cast<B&&>(b)), c_(static_cast<C&&>(c)), where_(where) {}
  [[nodiscard]] location where() const { return where_; }
  trace::Id record(trace::Recorder& recorder, location) {
    trace::Id const a = a_.record(recorder, where_);
    trace::Id const b = b_.record(recorder, where_);
    trace::Id const c = record_as<T, S>(recorder, c_, where_);
    return recorder.emit(ir::DotOp(), {a, b, c}, tile_type<T, S>, where_);
  }

 private:
  A a_;
  B b_;
  C c_;
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
struct DotFacts {
  using a = Matrix<shape_t<A>>;
  using b = Matrix<shape_t<B>>;
  using element = element_t<A>;
  using accumulator = accumulator_t<element>;
  using shape = Shape<a::rows, b::columns>;
  static constexpr bool floating = is_float(element_of<element>::value);
  static constexpr bool holds = a::holds && b::holds && a::columns == b::rows &&
                                std::is_same_v<element, element_t<B>> && floating && !named_recipe<A> &&
                                !named_recipe<B> && !is_invalid<A> && !is_invalid<B>;
};

template <class A, class B>
constexpr void check_dot() {
  using F = DotFacts<A, B>;
  constexpr bool used_once = !named_recipe<A> && !named_recipe<B>;
  constexpr bool matrices = F::a::holds && F::b::holds;
  constexpr bool floating = F::floating;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  if constexpr (used_once && !is_invalid<A> && !is_invalid<B>) {
    static_assert(matrices,
                  "dot: both operands are matrices; a load of lower rank takes one element of each leading axis");
    if constexpr (matrices)
      static_assert(inner_dimensions_agree<F::a::columns, F::b::rows>,
                    "dot: the first operand is M x K and the second K x N, but the two K differ");
    static_assert(same_element<element_t<A>, element_t<B>>,
                  "dot: the operands have different elements: use cast<T>(...)");
    static_assert(floating, "dot: a floating element is expected (f16, bf16, float, double)");
  }
}

}  // namespace detail

/// a * b for a (M, K) and b (K, N): f16, bf16 and f32 give f32, f64 gives f64.
template <detail::TileLike A, detail::TileLike B>
constexpr auto dot(A&& a, B&& b, location where = location::current()) {
  using F = detail::DotFacts<A, B>;
  detail::check_dot<A, B>();
  if constexpr (F::holds)
    return detail::Dot<typename F::accumulator, typename F::shape, detail::stored_t<A>, detail::stored_t<B>,
                       detail::LiteralRef>(detail::stored(a), detail::stored(b), detail::LiteralRef(), where);
  else
    return detail::Invalid<typename F::accumulator, typename F::shape>();
}
/// accumulator + a * b.
template <detail::TileLike A, detail::TileLike B, detail::TileLike C>
constexpr auto dot(A&& a, B&& b, C&& accumulator, location where = location::current()) {
  using F = detail::DotFacts<A, B>;
  detail::check_dot<A, B>();
  constexpr bool element = std::is_same_v<detail::element_t<C>, typename F::accumulator>;
  constexpr bool extents = std::is_same_v<detail::shape_t<C>, typename F::shape>;
  constexpr bool used_once = !detail::named_recipe<C>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  if constexpr (F::holds && used_once && !detail::is_invalid<C>) {
    static_assert(element, "dot: the accumulator's element is float (double for double operands)");
    static_assert(extents, "dot: the accumulator is not M x N");
  }
  if constexpr (F::holds && element && extents && used_once && !detail::is_invalid<C>)
    return detail::Dot<typename F::accumulator, typename F::shape, detail::stored_t<A>, detail::stored_t<B>,
                       detail::stored_t<C>>(detail::stored(a), detail::stored(b), detail::stored(accumulator), where);
  else
    return detail::Invalid<typename F::accumulator, typename F::shape>();
}

}  // namespace tegula
