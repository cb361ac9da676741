// Moves elements of tiles without arithmetic: reshape, slice, flip, concatenate, join, split, interleave,
// deinterleave.
#pragma once

#include "tegula/dsl/control.hpp"
#include "tegula/dsl/reshape.hpp"

namespace tegula {

/// Holds the place of a box in a tile: the type of `offset<0, 32>`, one number per axis, counted in elements.
template <std::int64_t... at>
struct Offset {
  static_assert(((at >= 0) && ...), "offset: a place in a tile must not be negative");
  static constexpr Extents list = {at...};
};
template <std::int64_t... at>
inline constexpr Offset<at...> offset{};

namespace detail {

constexpr bool lies_inside(Extents const& box, Extents const& at, Extents const& whole) {
  if (box.size() != whole.size() || at.size() != whole.size()) return false;
  for (int i = 0; i < box.size(); ++i)
    if (at[i] > whole[i] - box[i]) return false;
  return true;
}

/// Puts B behind A along an axis.
template <class A, class B, int along>
struct Concatenated {
  static constexpr int axis = wrap_axis(along, A::rank);
  static constexpr bool holds = [] {
    if (A::rank != B::rank || axis < 0) return false;
    for (int i = 0; i < A::rank; ++i)
      if (i != axis && A::list[i] != B::list[i]) return false;
    return true;
  }();
  static constexpr Extents extents = [] {
    Extents result = A::list;
    if (holds) result[axis] += B::list[axis];
    return result;
  }();
};

/// Joins an axis with the next one, or parts its elements in groups of two.
template <class S, int along>
struct Merged {
  static constexpr Extents extents = [] {
    Extents result = S::list;
    result[along] *= result[along + 1];
    result.erase(along + 1);
    return result;
  }();
};
template <class S, int along>
struct Paired {
  static constexpr int axis = wrap_axis(along, S::rank);
  static constexpr bool holds = axis >= 0 && S::rank < max_rank && S::list[axis < 0 ? 0 : axis] % 2 == 0;
  static constexpr Extents extents = [] {
    Extents result = S::list;
    if (holds) {
      result[axis] /= 2;
      result.insert(axis + 1, 2);
    }
    return result;
  }();
};
/// Takes one of the two elements of an axis.
template <class S, int axis, int side>
struct OneOfTwo {
  static constexpr Extents extents = [] {
    Extents result = S::list;
    result[axis] = 1;
    return result;
  }();
  static constexpr Extents at = [] {
    Extents result;
    for (int i = 0; i < S::rank; ++i) result.push_back(i == axis ? side : 0);
    return result;
  }();
};

/// Holds two tiles that are put one after the other.
template <class T, class S, class A, class B>
class Concatenation : public Recipe<T, S> {
 public:
  constexpr Concatenation(int axis, A&& lhs, B&& rhs, location where)
      : axis_(axis), lhs_(static_cast<A&&>(lhs)), rhs_(static_cast<B&&>(rhs)), where_(where) {}
  [[nodiscard]] location where() const { return where_; }
  trace::Id record(trace::Recorder& recorder, location) {
    trace::Id const a = lhs_.record(recorder, where_);
    trace::Id const b = rhs_.record(recorder, where_);
    return recorder.emit(ir::make_op<ir::ConcatenateOp>(std::int64_t{axis_}), {a, b}, tile_type<T, S>, where_);
  }

 private:
  int axis_;
  A lhs_;
  B rhs_;
  location where_;
};

template <class S, class A>
constexpr auto reshaped(std::remove_reference_t<A>& a, location where) {
  return Unary<element_t<A>, S, ir::ReshapeOp, stored_t<A>>(ir::ReshapeOp{}, stored(a), where);
}
template <class S, class A>
constexpr auto sliced(std::remove_reference_t<A>& a, Extents const& at, location where) {
  return Unary<element_t<A>, S, ir::ExtractOp, stored_t<A>>(ir::make_op<ir::ExtractOp>(at), stored(a), where);
}

/// Returns one of the two parts along an axis of extent 2, without that axis.
template <int axis, int side, class Tile>
auto one_of_two(Tile const& whole, location where) {
  using Part = OneOfTwo<shape_t<Tile>, axis, side>;
  auto part = sliced<shape_from<Part>, Tile const&>(whole, Part::at, where);
  return squeezed<decltype(part), axis>(part, where);
}
/// Stands for two tiles after an error.
template <class T, class S>
struct InvalidPair {
  template <std::size_t>
  [[nodiscard]] constexpr auto get() const {
    return Invalid<T, S>();
  }
};
template <class A>
constexpr auto two_invalid() {
  return InvalidPair<element_t<A>, shape_t<A>>();
}

}  // namespace detail

/// Returns the elements, in row-major order, in another shape of as many: `reshape(x, shape<8, 16, 4>)`. On a GPU they
/// stay in their registers, unless an odd factor moves past a power of two. Then, as from 48 x 4 to 16 x 12, they go
/// through shared memory.
template <detail::TileLike A, std::int64_t... extents>
constexpr auto reshape(A&& a, Shape<extents...>, location where = location::current()) {
  using S = Shape<extents...>;
  constexpr bool used_once = !detail::named_recipe<A>, invalid = detail::is_invalid<A>;
  constexpr bool same_count = invalid || detail::shape_t<A>::elements == S::elements;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(same_count, "reshape: both shapes must have the same number of elements");
  if constexpr (!used_once || invalid || !same_count)
    return detail::Invalid<detail::element_t<A>, S>();
  else
    return detail::reshaped<S, A>(a, where);
}

/// Returns the box of that shape at a place of the tile: `slice(x, shape<64, 32>, offset<0, 32>)`.
template <detail::TileLike A, std::int64_t... extents, std::int64_t... at>
constexpr auto slice(A&& a, Shape<extents...>, Offset<at...>, location where = location::current()) {
  using S = Shape<extents...>;
  constexpr bool used_once = !detail::named_recipe<A>, invalid = detail::is_invalid<A>;
  constexpr bool per_axis = invalid || (S::rank == detail::shape_t<A>::rank && sizeof...(at) == sizeof...(extents));
  constexpr bool inside =
      !per_axis || invalid || detail::lies_inside(S::list, Offset<at...>::list, detail::shape_t<A>::list);
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(per_axis, "slice: shape and offset must give one number for each axis of the tile");
  static_assert(inside, "slice: the box must not reach beyond the tile");
  if constexpr (!used_once || invalid || !per_axis || !inside)
    return detail::Invalid<detail::element_t<A>, S>();
  else
    return detail::sliced<S, A>(a, Offset<at...>::list, where);
}

/// Returns the elements in the opposite order along an axis: `flip(x, axis<1>)`.
template <detail::TileLike A, int along>
constexpr auto flip(A&& a, Axis<along>, location where = location::current()) {
  using S = detail::shape_t<A>;
  constexpr int axis = detail::wrap_axis(along, S::rank);
  constexpr bool used_once = !detail::named_recipe<A>, invalid = detail::is_invalid<A>;
  constexpr bool in_range = invalid || axis >= 0;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(in_range, "flip: the tile must have this axis");
  if constexpr (!used_once || invalid || !in_range)
    return detail::Invalid<detail::element_t<A>, S>();
  else
    return detail::Unary<detail::element_t<A>, S, ir::FlipOp, detail::stored_t<A>>(
        ir::make_op<ir::FlipOp>(std::int64_t{axis}), detail::stored(a), where);
}

/// Puts two tiles one after the other along an axis, the only one in which they may differ. 8 x 32 and 8 x 16 along
/// axis<1> become 8 x 48.
template <detail::TileLike A, detail::TileLike B, int along>
constexpr auto concatenate(A&& a, B&& b, Axis<along>, location where = location::current()) {
  using T = detail::element_t<A>;
  using E = detail::Concatenated<detail::shape_t<A>, detail::shape_t<B>, along>;
  constexpr bool used_once = !detail::named_recipe<A> && !detail::named_recipe<B>;
  constexpr bool invalid = detail::is_invalid<A> || detail::is_invalid<B>;
  constexpr bool one_element = invalid || detail::same_element<T, detail::element_t<B>>;
  constexpr bool fits = invalid || E::holds;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(one_element, "concatenate: both tiles must have the same element: use cast<T>(...)");
  static_assert(fits, "concatenate: the tiles must have the axis, and equal extents along all others");
  if constexpr (!used_once || invalid || !one_element || !fits)
    return detail::Invalid<T, detail::shape_t<A>>();
  else
    return detail::Concatenation<T, detail::shape_from<E>, detail::stored_t<A>, detail::stored_t<B>>(
        E::axis, detail::stored(a), detail::stored(b), where);
}

/// Joins two tiles of one shape along a new axis of extent 2, the last one unless another is named.
/// `join(re, im)` of 8 x 32 returns 8 x 32 x 2.
template <detail::TileLike A, detail::TileLike B, int along>
constexpr auto join(A&& a, B&& b, Axis<along>, location where = location::current()) {
  using T = detail::element_t<A>;
  using E = detail::Expanded<detail::shape_t<A>, along>;
  constexpr bool used_once = !detail::named_recipe<A> && !detail::named_recipe<B>;
  constexpr bool invalid = detail::is_invalid<A> || detail::is_invalid<B>;
  constexpr bool one_element = invalid || detail::same_element<T, detail::element_t<B>>;
  constexpr bool alike = invalid || detail::same_shape<detail::shape_t<A>, detail::shape_t<B>>;
  constexpr bool in_range = invalid || E::holds;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(one_element, "join: both tiles must have the same element: use cast<T>(...)");
  static_assert(alike, "join: both tiles must have the same shape");
  static_assert(in_range, "join: the axis must be one of the result, which has at most 8");
  if constexpr (!used_once || invalid || !one_element || !alike || !in_range)
    return detail::Invalid<T, detail::shape_t<A>>();
  else
    return concatenate(detail::expanded<A, along>(a, where), detail::expanded<B, along>(b, where), Axis<along>(),
                       where);
}
template <detail::TileLike A, detail::TileLike B>
constexpr auto join(A&& a, B&& b, location where = location::current()) {
  return join(static_cast<A&&>(a), static_cast<B&&>(b), Axis<-1>(), where);
}

/// Takes a tile apart along an axis of extent 2, the last one unless another is named. The axis goes:
/// `auto [re, im] = split(x)` of 8 x 32 x 2 returns two tiles of 8 x 32.
template <detail::TileLike A, int along>
constexpr auto split(A&& a, Axis<along>, location where = location::current()) {
  using S = detail::shape_t<A>;
  constexpr int axis = detail::wrap_axis(along, S::rank);
  constexpr bool used_once = !detail::named_recipe<A>, invalid = detail::is_invalid<A>;
  constexpr bool in_range = invalid || (axis >= 0 && S::rank > 1);
  constexpr bool two = !in_range || invalid || S::list[axis < 0 ? 0 : axis] == 2;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(in_range, "split: the tile must have this axis and another one");
  static_assert(two, "split: the axis must have extent 2; slice takes other parts");
  if constexpr (!used_once || invalid || !in_range || !two) {
    return detail::two_invalid<A>();
  } else {
    auto const whole = let(static_cast<A&&>(a), where);
    return let(carry(detail::one_of_two<axis, 0>(whole, where), detail::one_of_two<axis, 1>(whole, where)), where);
  }
}
template <detail::TileLike A>
constexpr auto split(A&& a, location where = location::current()) {
  return split(static_cast<A&&>(a), Axis<-1>(), where);
}
/// Puts the elements of two tiles of one shape by turns along an axis. It is the last one unless another is named: 8 x
/// 32 twice returns 8 x 64.
template <detail::TileLike A, detail::TileLike B, int along>
constexpr auto interleave(A&& a, B&& b, Axis<along>, location where = location::current()) {
  using T = detail::element_t<A>;
  using S = detail::shape_t<A>;
  constexpr int axis = detail::wrap_axis(along, S::rank);
  constexpr bool used_once = !detail::named_recipe<A> && !detail::named_recipe<B>;
  constexpr bool invalid = detail::is_invalid<A> || detail::is_invalid<B>;
  constexpr bool one_element = invalid || detail::same_element<T, detail::element_t<B>>;
  constexpr bool alike = invalid || detail::same_shape<S, detail::shape_t<B>>;
  constexpr bool in_range = invalid || (axis >= 0 && S::rank < max_rank);
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(one_element, "interleave: both tiles must have the same element: use cast<T>(...)");
  static_assert(alike, "interleave: both tiles must have the same shape");
  static_assert(in_range, "interleave: the tiles must have this axis, and at most 7 axes");
  if constexpr (!used_once || invalid || !one_element || !alike || !in_range) {
    return detail::Invalid<T, S>();
  } else {
    auto pairs = join(static_cast<A&&>(a), static_cast<B&&>(b), Axis<axis + 1>(), where);
    using Pairs = decltype(pairs);
    return detail::reshaped<detail::shape_from<detail::Merged<detail::shape_t<Pairs>, axis>>, Pairs>(pairs, where);
  }
}
template <detail::TileLike A, detail::TileLike B>
constexpr auto interleave(A&& a, B&& b, location where = location::current()) {
  return interleave(static_cast<A&&>(a), static_cast<B&&>(b), Axis<-1>(), where);
}

/// Returns the elements at even and those at odd places along an axis, the last one unless another is named.
/// `auto [even, odd] = deinterleave(x)` of 8 x 64 returns two tiles of 8 x 32.
template <detail::TileLike A, int along>
constexpr auto deinterleave(A&& a, Axis<along>, location where = location::current()) {
  using E = detail::Paired<detail::shape_t<A>, along>;
  constexpr bool used_once = !detail::named_recipe<A>, invalid = detail::is_invalid<A>;
  constexpr bool even = invalid || E::holds;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(even, "deinterleave: the tile must have this axis, with an even extent, and at most 7 axes");
  if constexpr (!used_once || invalid || !even)
    return detail::two_invalid<A>();
  else
    return split(detail::reshaped<detail::shape_from<E>, A>(a, where), Axis<E::axis + 1>(), where);
}
template <detail::TileLike A>
constexpr auto deinterleave(A&& a, location where = location::current()) {
  return deinterleave(static_cast<A&&>(a), Axis<-1>(), where);
}

}  // namespace tegula

namespace std {
template <class T, class S>
struct tuple_size<tegula::detail::InvalidPair<T, S>> : integral_constant<size_t, 2> {};
template <size_t at, class T, class S>
struct tuple_element<at, tegula::detail::InvalidPair<T, S>> {
  using type = tegula::detail::Invalid<T, S>;
};
}  // namespace std
