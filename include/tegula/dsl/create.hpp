// Makes tiles without operands: constants and coordinates.
#pragma once

#include "tegula/dsl/operators.hpp"

namespace tegula {

namespace detail {

/// Records a tile with a number or run-time scalar in every element.
template <class T, class S, class V>
class Full : public Recipe<T, S> {
 public:
  constexpr Full(V value, location where) : value_(value), where_(where) {}
  [[nodiscard]] location where() const { return where_; }
  trace::Id record(trace::Recorder& recorder, location) { return record_as<T, S>(recorder, value_, where_); }

 private:
  V value_;
  location where_;
};

template <class T, class S>
class Iota : public Recipe<T, S> {
 public:
  constexpr Iota(int along, location where) : along_(along), where_(where) {}
  [[nodiscard]] location where() const { return where_; }
  trace::Id record(trace::Recorder& recorder, location) {
    return recorder.emit(ir::make_op<ir::IotaOp>(std::int64_t{along_}), {}, tile_type<T, S>, where_);
  }

 private:
  int along_;
  location where_;
};

/// Finds the element of a number as written: int is i32, float and inf are f32, double is f64.
template <class V>
struct OwnElement {
  using type = std::conditional_t<ElementType<bare<V>>, bare<V>,
                                  std::conditional_t<std::is_same_v<bare<V>, Infinity>, float, std::int64_t>>;
};
template <ScalarLike V>
struct OwnElement<V> {
  using type = typename bare<V>::scalar_element;
};

template <class T, class S, class V>
constexpr auto full_of(V const& value, location where) {
  constexpr Problem problem = scalar_problem<T, V>();
  check_operands<problem, V, T>();
  if constexpr (problem == Problem::none)
    return Full<T, S, stored_t<V>>(stored(value), where);
  else
    return Invalid<T, S>();
}

}  // namespace detail

/// Fills a tile with a value: `full(shape<64, 1>, -inf)`; its element is the value's, or T: `full<bf16>(shape<64>, 1)`.
template <std::int64_t... extents, class V>
requires(detail::Number<V> || detail::ScalarLike<V>) constexpr auto full(Shape<extents...>, V const& value,
                                                                         location where = location::current()) {
  return detail::full_of<typename detail::OwnElement<V>::type, Shape<extents...>>(value, where);
}
template <ElementType T, std::int64_t... extents, class V>
requires(detail::Number<V> || detail::ScalarLike<V>) constexpr auto full(Shape<extents...>, V const& value,
                                                                         location where = location::current()) {
  return detail::full_of<T, Shape<extents...>>(value, where);
}
template <ElementType T, std::int64_t... extents>
constexpr auto zeros(Shape<extents...>, location where = location::current()) {
  using zero = std::conditional_t<std::is_same_v<T, bool>, bool, int>;
  return detail::full_of<T, Shape<extents...>>(zero(0), where);
}

/// Returns each element's coordinate along an axis, from 0: `iota(shape<1, 64>, axis<1>) + g[1] * 64`. Its element is
/// i64, as of indices; `iota<int>` where 32 bits suffice.
template <class T = std::int64_t, std::int64_t... extents, int along>
constexpr auto iota(Shape<extents...>, Axis<along>, location where = location::current()) {
  constexpr int at = detail::wrap_axis(along, Shape<extents...>::rank);
  constexpr bool integer = std::is_same_v<T, std::int32_t> || std::is_same_v<T, std::int64_t>;
  static_assert(integer, "iota: coordinates must be int or std::int64_t; use cast for other elements");
  static_assert(at >= 0, "iota: the shape must have this axis");
  return detail::Iota<std::conditional_t<integer, T, std::int64_t>, Shape<extents...>>(at < 0 ? 0 : at, where);
}

}  // namespace tegula
