// Defines index expressions and run-time scalars: pure, copyable, bound with `auto` at will.
#pragma once

#include "tegula/dsl/concepts.hpp"

namespace tegula {

/// Holds one value per block: a block or loop index, an extent, an `arg`, arithmetic on them.
template <ElementType T>
class scalar : public detail::NoTruth {
 public:
  using scalar_element = T;
  explicit constexpr scalar(trace::Handle handle) : handle_(handle) {}
  [[nodiscard]] constexpr trace::Handle handle() const { return handle_; }

 private:
  trace::Handle handle_;
};

/// Counts elements where a plain index counts tiles: `load(a, shape<64>, elem(k))`.
class elem {
 public:
  template <class X>
  explicit constexpr elem(X const& x);
  [[nodiscard]] constexpr trace::Coordinate const& coordinate() const { return coordinate_; }

 private:
  trace::Coordinate coordinate_;
};

namespace detail {

template <class X>
concept IntegerScalar = ScalarLike<X> &&(std::is_same_v<typename bare<X>::scalar_element, std::int64_t> ||
                                         std::is_same_v<typename bare<X>::scalar_element, std::int32_t>);
template <class X>
concept Integer = Number<X> && number_kind<X>()
== NumberKind::integer;

template <class X>
concept IndexLike = IntegerScalar<X> || Integer<X> || std::is_same_v<bare<X>, elem>;

template <class X>
constexpr trace::Coordinate coordinate(X const& x) {
  trace::Coordinate result;
  if constexpr (std::is_same_v<X, elem>)
    result = x.coordinate();
  else if constexpr (IntegerScalar<X>) {
    result.traced = x.handle();
    result.is_traced = true;
  } else if constexpr (Integer<X>) {
    trace::Literal const written = literal(x);
    result.number = written.integer;
    result.kind = written.kind;
  }
  return result;
}

template <class T>
inline constexpr ir::Type scalar_type = ir::Type::scalar(element_of<T>::value);

template <class X>
struct scalar_element_of {
  using type = void;
};
template <ScalarLike X>
struct scalar_element_of<X> {
  using type = typename bare<X>::scalar_element;
};
template <class X>
using scalar_element_t = typename scalar_element_of<X>::type;

/// Finds the element of a result of two scalars or a scalar and a number; an i32 and an index give an index; void:
/// refused.
template <class A, class B>
struct CommonScalar {
  using a = scalar_element_t<A>;
  using b = scalar_element_t<B>;
  static constexpr bool integers = IntegerScalar<A> && IntegerScalar<B>;
  using both = std::conditional_t<std::is_same_v<a, b>, a, std::conditional_t<integers, std::int64_t, void>>;
  using type = std::conditional_t<std::is_void_v<a>, b, std::conditional_t<std::is_void_v<b>, a, both>>;
};

/// Returns the value of a scalar or number as an id of the wanted scalar type.
template <class T, class X>
trace::Id scalar_id(trace::Recorder& recorder, X const& x, location where) {
  if constexpr (ScalarLike<X>)
    return recorder.adapt(recorder.use(x.handle(), where), scalar_type<T>, where);
  else
    return recorder.constant(literal(x), scalar_type<T>, where);
}

inline trace::Id index_id(trace::Recorder& recorder, trace::Coordinate const& coordinate, location where) {
  return recorder.index_value(coordinate, where);
}

}  // namespace detail

template <class X>
constexpr elem::elem(X const& x) : coordinate_(detail::coordinate(x)) {
  constexpr bool is_index = detail::IntegerScalar<X> || detail::Integer<X>;
  static_assert(is_index, "elem: the offset must be an integer or an index expression");
  coordinate_.in_elements = true;
}

}  // namespace tegula
