// Reduces tiles along axes, which stay with extent 1, or to scalars.
#pragma once

#include "tegula/dsl/item.hpp"
#include "tegula/dsl/math.hpp"

namespace tegula {

/// Chooses how a reduction associates. Any: one fixed tree per compiled kernel. Pairwise: adjacent pairs first, an odd
/// last one carried up; the same bits on every target.
namespace order {
struct Any {
  static constexpr ir::Order value = ir::Order::any;
};
struct Pairwise {
  static constexpr ir::Order value = ir::Order::pairwise;
};
inline constexpr Any any;
inline constexpr Pairwise pairwise;
}  // namespace order

namespace detail {

template <class S, int... along>
struct Reduced {
  static constexpr Extents extents = [] {
    Extents result = S::list;
    for (int axis : {along...}) result[wrap_axis(axis, S::rank)] = 1;
    return result;
  }();
};

template <class O>
concept ReductionOrder = std::is_same_v<O, order::Any> || std::is_same_v<O, order::Pairwise>;

/// Records a reduction along axes, one after another, the last first.
inline trace::Id reduce_along(trace::Recorder& recorder, trace::Id value, ir::Type type, Extents const& axes,
                              ir::Combine combine, ir::Order order, location where) {
  for (int i = axes.size(); i-- > 0;) {
    Extents shape = type.shape();
    shape[static_cast<int>(axes[i])] = 1;
    type = type.with_shape(shape);
    value = recorder.emit(ir::make_op<ir::ReduceOp>(axes[i], combine, order), {value}, type, where);
  }
  return value;
}

/// Reduces a tile of shape S along axes.
template <class T, class S, class R, class A>
class Reduction : public Recipe<T, R> {
 public:
  constexpr Reduction(A&& operand, Extents const& axes, ir::Combine combine, ir::Order order, location where)
      : operand_(static_cast<A&&>(operand)), axes_(axes), combine_(combine), order_(order), where_(where) {}
  [[nodiscard]] location where() const { return nearest(where_, operand_.where()); }
  trace::Id record(trace::Recorder& recorder, location binding) {
    location const at = nearest(where(), binding);
    trace::Id const a = operand_.record(recorder, at);
    // One op rounds once. Several work on f32, so that their result is rounded once too.
    ir::Type const type = tile_type<T, S>;
    if (axes_.size() == 1 || !is_narrow_float(element_of<T>::value))
      return reduce_along(recorder, a, type, axes_, combine_, order_, at);
    ir::Type const wide = type.with_element(Element::f32);
    trace::Id const widened = recorder.emit(ir::CastOp(), {a}, wide, at);
    trace::Id const reduced = reduce_along(recorder, widened, wide, axes_, combine_, order_, at);
    return recorder.emit(ir::CastOp(), {reduced}, tile_type<T, R>, at);
  }

 private:
  A operand_;
  Extents axes_;
  ir::Combine combine_;
  ir::Order order_;
  location where_;
};

/// Joins a mask along axes: as 0 and 1, whose max or min is compared with 0.
template <class T, class S, class R, class A>
class Quantified : public Recipe<bool, R> {
 public:
  constexpr Quantified(A&& operand, Extents const& axes, ir::Combine combine, location where)
      : operand_(static_cast<A&&>(operand)), axes_(axes), combine_(combine), where_(where) {}
  [[nodiscard]] location where() const { return nearest(where_, operand_.where()); }
  trace::Id record(trace::Recorder& recorder, location binding) {
    location const at = nearest(where(), binding);
    ir::Type const numbers = tile_type<std::int32_t, S>;
    trace::Id const mask = operand_.record(recorder, at);
    trace::Id const value = reduce_along(recorder, recorder.emit(ir::CastOp(), {mask}, numbers, at), numbers, axes_,
                                         combine_, ir::Order::any, at);
    trace::Id const zero = recorder.constant({}, tile_type<std::int32_t, R>, at);
    return recorder.emit(ir::make_op<ir::CompareOp>(ir::Predicate::ne), {value, zero}, tile_type<bool, R>, at);
  }

 private:
  A operand_;
  Extents axes_;
  ir::Combine combine_;
  location where_;
};

/// Finds the first place of the extreme along an axis: the lowest coordinate of an element that equals it.
template <class T, class S, class R, class A>
class PlaceOfExtreme : public Recipe<std::int32_t, R> {
 public:
  constexpr PlaceOfExtreme(A&& operand, Extents const& axes, ir::Combine combine, location where)
      : operand_(static_cast<A&&>(operand)), axes_(axes), combine_(combine), where_(where) {}
  [[nodiscard]] location where() const { return nearest(where_, operand_.where()); }
  trace::Id record(trace::Recorder& recorder, location binding) {
    location const at = nearest(where(), binding);
    auto const number = [&](std::int64_t value, ir::Type const& type) {
      return recorder.constant({trace::Literal::Kind::integer, value, 0}, type, at);
    };
    ir::Type const places = tile_type<std::int32_t, S>, result = tile_type<std::int32_t, R>;
    std::int64_t const extent = S::list[static_cast<int>(axes_[0])];
    trace::Id const a = operand_.record(recorder, at);
    trace::Id const extreme = reduce_along(recorder, a, tile_type<T, S>, axes_, combine_, ir::Order::any, at);
    trace::Id const everywhere = recorder.adapt(extreme, tile_type<T, S>, at);
    trace::Id const equals =
        recorder.emit(ir::make_op<ir::CompareOp>(ir::Predicate::eq), {a, everywhere}, tile_type<bool, S>, at);
    trace::Id const place = recorder.emit(ir::make_op<ir::IotaOp>(axes_[0]), {}, places, at);
    trace::Id const candidates = recorder.emit(ir::SelectOp(), {equals, place, number(extent, places)}, places, at);
    trace::Id const first = reduce_along(recorder, candidates, places, axes_, ir::Combine::min, ir::Order::any, at);
    if (!is_float(element_of<T>::value)) return first;
    // Nothing equals NaN, which is the extreme of nothing but NaN.
    trace::Id const found = recorder.emit(ir::make_op<ir::CompareOp>(ir::Predicate::lt),
                                          {first, number(extent, result)}, tile_type<bool, R>, at);
    return recorder.emit(ir::SelectOp(), {found, first, number(0, result)}, result, at);
  }

 private:
  A operand_;
  Extents axes_;
  ir::Combine combine_;
  location where_;
};

/// Returns the recipe `Node` of a reduction along axes, with elements E. It takes a mask if E is bool, else numbers.
template <template <class, class, class, class> class Node, class E, class A, int... along, class... Options>
constexpr auto reduce(std::remove_reference_t<A>& a, Options... options) {
  using S = shape_t<A>;
  using T = element_t<A>;
  constexpr bool mask = std::is_same_v<E, bool>;
  constexpr bool used_once = !named_recipe<A>;
  constexpr bool number = mask || !std::is_same_v<T, bool> || is_invalid<A>;
  constexpr bool truth = !mask || std::is_same_v<T, bool> || is_invalid<A>;
  constexpr bool wide = !is_narrow<T> || !truth || is_invalid<A>;
  constexpr bool in_range = ((wrap_axis(along, S::rank) >= 0) && ...) || is_invalid<A>;
  constexpr bool distinct = !in_range || !sorted_axes({along...}, S::rank).empty() || is_invalid<A>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(number,
                "a reduction must be of numbers, and a bool is not a number: cast the mask first, or use any or all");
  static_assert(truth,
                "the operand of any and all must be a mask (a tile of bool): compare first, for instance x != 0");
  static_assert(wide, TEGULA_NARROW_ELEMENT);
  static_assert(in_range, "a reduction must be along axes that the tile has");
  static_assert(distinct, "a reduction must name one axis or several, each of them once");
  if constexpr (used_once && number && truth && wide && in_range && distinct && !is_invalid<A>)
    return Node<T, S, shape_from<Reduced<S, along...>>, stored_t<A>>(stored(a), sorted_axes({along...}, S::rank),
                                                                     options...);
  else
    return Invalid<E, S>();
}

/// Returns the scalar of a reduction along all axes.
template <template <class, class, class, class> class Node, class E, class A, class... Options>
auto reduce_all(char const* word, std::remove_reference_t<A>& a, location where, Options... options) {
  return [&]<int... axes>(std::integer_sequence<int, axes...>) {
    return only_item(word, reduce<Node, E, A, axes...>(a, options..., where), where);
  }
  (std::make_integer_sequence<int, shape_t<A>::rank>());
}

/// Returns the place of an extreme among all elements, in row-major order.
template <class A>
auto place_among_all(char const* word, std::remove_reference_t<A>& a, ir::Combine combine, location where) {
  using T = element_t<A>;
  if constexpr (shape_t<A>::rank == 1 || named_recipe<A> || is_invalid<A>) {
    return only_item(word, reduce<PlaceOfExtreme, std::int32_t, A, 0>(a, combine, where), where);
  } else {
    using Flat = Unary<T, Shape<shape_t<A>::elements>, ir::ReshapeOp, stored_t<A>>;
    Flat flat(ir::ReshapeOp{}, stored(a), where);
    return only_item(word, reduce<PlaceOfExtreme, std::int32_t, Flat, 0>(flat, combine, where), where);
  }
}

}  // namespace detail

/// Sums along axes, which stay with extent 1: `sum(x, axis<1>)`, `sum(x, axis<0, 1>)`. f16 and bf16 are summed in f32
/// and rounded once. Sums of integers wrap. Several axes are reduced one after another, the last first.
template <detail::TileLike A, int... along, detail::ReductionOrder O = order::Any>
constexpr auto sum(A&& a, Axis<along...>, O = {}, location where = location::current()) {
  return detail::reduce<detail::Reduction, detail::element_t<A>, A, along...>(a, ir::Combine::sum, O::value, where);
}
/// Multiplies along axes; the rules of sum apply.
template <detail::TileLike A, int... along, detail::ReductionOrder O = order::Any>
constexpr auto prod(A&& a, Axis<along...>, O = {}, location where = location::current()) {
  return detail::reduce<detail::Reduction, detail::element_t<A>, A, along...>(a, ir::Combine::product, O::value, where);
}
/// Returns the maximum along axes; a NaN gives the others.
template <detail::TileLike A, int... along, detail::ReductionOrder O = order::Any>
constexpr auto(max)(A&& a, Axis<along...>, O = {}, location where = location::current()) {
  return detail::reduce<detail::Reduction, detail::element_t<A>, A, along...>(a, ir::Combine::max, O::value, where);
}
/// Returns the minimum along axes; a NaN gives the others.
template <detail::TileLike A, int... along, detail::ReductionOrder O = order::Any>
constexpr auto(min)(A&& a, Axis<along...>, O = {}, location where = location::current()) {
  return detail::reduce<detail::Reduction, detail::element_t<A>, A, along...>(a, ir::Combine::min, O::value, where);
}

/// Returns a mask: true where some element along the axes is.
template <detail::TileLike A, int... along>
constexpr auto any(A&& mask, Axis<along...>, location where = location::current()) {
  return detail::reduce<detail::Quantified, bool, A, along...>(mask, ir::Combine::max, where);
}
/// Returns a mask: true where every element along the axes is.
template <detail::TileLike A, int... along>
constexpr auto all(A&& mask, Axis<along...>, location where = location::current()) {
  return detail::reduce<detail::Quantified, bool, A, along...>(mask, ir::Combine::min, where);
}

/// Returns the coordinate of the maximum along an axis, as i32, the lowest of several. A NaN gives the others; where
/// all are NaN, the result is 0.
template <detail::TileLike A, int along>
constexpr auto argmax(A&& a, Axis<along>, location where = location::current()) {
  return detail::reduce<detail::PlaceOfExtreme, std::int32_t, A, along>(a, ir::Combine::max, where);
}
/// Returns the coordinate of the minimum along an axis; the rules of argmax apply.
template <detail::TileLike A, int along>
constexpr auto argmin(A&& a, Axis<along>, location where = location::current()) {
  return detail::reduce<detail::PlaceOfExtreme, std::int32_t, A, along>(a, ir::Combine::min, where);
}

// Without axes, all elements are reduced, and the result is a run-time scalar: an index, a bound of a loop, a
// condition. The rules are those of all axes: `sum(x)` is item(sum(x, axis<0, 1>)) of a tile with two axes.

/// Sums all elements to a scalar: `sum(x)`.
template <detail::TileLike A, detail::ReductionOrder O = order::Any>
auto sum(A&& a, O = {}, location where = location::current()) {
  return detail::reduce_all<detail::Reduction, detail::element_t<A>, A>("sum", a, where, ir::Combine::sum, O::value);
}
/// Multiplies all elements.
template <detail::TileLike A, detail::ReductionOrder O = order::Any>
auto prod(A&& a, O = {}, location where = location::current()) {
  return detail::reduce_all<detail::Reduction, detail::element_t<A>, A>("prod", a, where, ir::Combine::product,
                                                                        O::value);
}
/// Returns the maximum of all elements.
template <detail::TileLike A>
auto(max)(A&& a, location where = location::current()) {
  return detail::reduce_all<detail::Reduction, detail::element_t<A>, A>("max", a, where, ir::Combine::max,
                                                                        ir::Order::any);
}
/// Returns the minimum of all elements.
template <detail::TileLike A>
auto(min)(A&& a, location where = location::current()) {
  return detail::reduce_all<detail::Reduction, detail::element_t<A>, A>("min", a, where, ir::Combine::min,
                                                                        ir::Order::any);
}
/// Tells whether some element of a mask is true: `if_(any(x < 0), ...)`.
template <detail::TileLike A>
auto any(A&& mask, location where = location::current()) {
  return detail::reduce_all<detail::Quantified, bool, A>("any", mask, where, ir::Combine::max);
}
/// Tells whether all elements of a mask are true.
template <detail::TileLike A>
auto all(A&& mask, location where = location::current()) {
  return detail::reduce_all<detail::Quantified, bool, A>("all", mask, where, ir::Combine::min);
}
/// Returns the place of the maximum of all elements, counted in row-major order, the lowest of several; NaN as along an
/// axis.
template <detail::TileLike A>
auto argmax(A&& a, location where = location::current()) {
  return detail::place_among_all<A>("argmax", a, ir::Combine::max, where);
}
/// Returns the place of the minimum of all elements; the rules of argmax apply.
template <detail::TileLike A>
auto argmin(A&& a, location where = location::current()) {
  return detail::place_among_all<A>("argmin", a, ir::Combine::min, where);
}

}  // namespace tegula
