// Changes shapes of tiles without arithmetic: inserts, drops, exchanges and repeats axes.
#pragma once

#include "tegula/dsl/operators.hpp"

namespace tegula {

namespace detail {

template <class S, int... axes>
struct Expanded {
  static constexpr int rank = S::rank + static_cast<int>(sizeof...(axes));
  static constexpr Extents at = rank <= max_rank ? sorted_axes({axes...}, rank) : Extents{};
  static constexpr bool in_range = rank <= max_rank && ((wrap_axis(axes, rank) >= 0) && ...);
  static constexpr bool holds = in_range && !at.empty();
  static constexpr Extents extents = [] {
    Extents result = S::list;
    for (std::int64_t a : at) result.insert(static_cast<int>(a), 1);
    return result;
  }();
};

template <class S, int... axes>
struct Squeezed {
  static constexpr Extents at = sorted_axes({axes...}, S::rank);
  static constexpr bool in_range = ((wrap_axis(axes, S::rank) >= 0) && ...);
  static constexpr bool distinct = !at.empty();
  static constexpr bool unit = [] {
    for (std::int64_t a : at)
      if (S::list[static_cast<int>(a)] != 1) return false;
    return true;
  }();
  static constexpr bool holds = in_range && distinct && unit && static_cast<int>(sizeof...(axes)) < S::rank;
  static constexpr Extents extents = [] {
    Extents result = S::list;
    if (holds)
      for (int i = at.size() - 1; i >= 0; --i) result.erase(static_cast<int>(at[i]));
    return result;
  }();
};

template <class S, int... axes>
struct Permuted {
  static constexpr bool holds = sizeof...(axes) == S::rank && sorted_axes({axes...}, S::rank).size() == S::rank;
  static constexpr Extents permutation = {(axes < 0 ? axes + S::rank : axes)...};
  static constexpr Extents extents = [] {
    Extents result = S::list;
    if (holds)
      for (int i = 0; i < S::rank; ++i) result[i] = S::list[static_cast<int>(permutation[i])];
    return result;
  }();
};

template <class A, int... axes>
constexpr auto expanded(std::remove_reference_t<A>& a, location where) {
  using E = Expanded<shape_t<A>, axes...>;
  if constexpr (named_recipe<A> || is_invalid<A> || !E::holds)
    return Invalid<element_t<A>, shape_t<A>>();
  else
    return Unary<element_t<A>, shape_from<E>, ir::ExpandDimsOp, stored_t<A>>(ir::make_op<ir::ExpandDimsOp>(E::at),
                                                                             stored(a), where);
}
template <class A, int... axes>
constexpr auto squeezed(std::remove_reference_t<A>& a, location where) {
  using E = Squeezed<shape_t<A>, axes...>;
  if constexpr (named_recipe<A> || is_invalid<A> || !E::holds)
    return Invalid<element_t<A>, shape_t<A>>();
  else
    return Unary<element_t<A>, shape_from<E>, ir::SqueezeOp, stored_t<A>>(ir::make_op<ir::SqueezeOp>(E::at), stored(a),
                                                                          where);
}

}  // namespace detail

/// Inserts axes of extent 1 at the given positions of the result. Several go at once, and negative ones count from the
/// end: `expand_dims(x, axis<0, -1>)` returns 1 x N x 1.
template <detail::TileLike A, int... axes>
constexpr auto expand_dims(A&& a, Axis<axes...>, location where = location::current()) {
  using E = detail::Expanded<detail::shape_t<A>, axes...>;
  constexpr bool used_once = !detail::named_recipe<A>;
  constexpr bool some = sizeof...(axes) > 0, few = E::rank <= max_rank, in_range = !few || E::in_range,
                 once = !in_range || !few || E::holds;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(some, "expand_dims: at least one axis must be given");
  static_assert(few, "expand_dims: a tile must have at most 8 axes");
  static_assert(in_range, "expand_dims: an axis must be one of the result's");
  static_assert(once, "expand_dims: an axis must not be given twice");
  return detail::expanded<A, axes...>(a, where);
}
/// Does the same with one axis as an integral constant: `expand_dims(x, 0_c)`.
template <detail::TileLike A, detail::StaticNumber C>
constexpr auto expand_dims(A&& a, C, location where = location::current()) {
  return expand_dims(static_cast<A&&>(a), Axis<static_cast<int>(C::value)>(), where);
}

/// Drops axes of extent 1: `squeeze(sum(x, axis<1>), axis<1>)`.
template <detail::TileLike A, int... axes>
constexpr auto squeeze(A&& a, Axis<axes...>, location where = location::current()) {
  using E = detail::Squeezed<detail::shape_t<A>, axes...>;
  constexpr bool used_once = !detail::named_recipe<A>, invalid = detail::is_invalid<A>;
  constexpr bool in_range = invalid || E::in_range, once = !in_range || invalid || E::distinct,
                 unit = invalid || E::unit;
  constexpr bool some_left = !in_range || !once || !unit || invalid || E::holds;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(in_range, "squeeze: the tile must have this axis");
  static_assert(once, "squeeze: an axis must not be given twice");
  static_assert(unit, "squeeze: a dropped axis must have extent 1");
  static_assert(some_left, "squeeze: a tile must keep at least one axis");
  return detail::squeezed<A, axes...>(a, where);
}
template <detail::TileLike A, detail::StaticNumber C>
constexpr auto squeeze(A&& a, C, location where = location::current()) {
  return squeeze(static_cast<A&&>(a), Axis<static_cast<int>(C::value)>(), where);
}

/// Permutes axes: axis i of the result is axis<...>'s i-th of the operand.
template <detail::TileLike A, int... axes>
constexpr auto trans(A&& a, Axis<axes...>, location where = location::current()) {
  using E = detail::Permuted<detail::shape_t<A>, axes...>;
  constexpr bool used_once = !detail::named_recipe<A>, complete = E::holds || detail::is_invalid<A>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(complete, "trans: every axis of the tile must be named once");
  if constexpr (!used_once || detail::is_invalid<A> || !E::holds)
    return detail::Invalid<detail::element_t<A>, detail::shape_t<A>>();
  else
    return detail::Unary<detail::element_t<A>, detail::shape_from<E>, ir::TransOp, detail::stored_t<A>>(
        ir::make_op<ir::TransOp>(E::permutation), detail::stored(a), where);
}
/// Transposes the matrix.
template <detail::TileLike A>
constexpr auto trans(A&& a, location where = location::current()) {
  constexpr bool matrix = detail::shape_t<A>::rank == 2;
  static_assert(matrix, "trans: without axes, the tile must be a matrix; name all axes otherwise, as in axis<0, 2, 1>");
  if constexpr (matrix)
    return trans(static_cast<A&&>(a), Axis<1, 0>(), where);
  else
    return detail::Invalid<detail::element_t<A>, detail::shape_t<A>>();
}

}  // namespace tegula
