// Counts elements by value, ranks equal elements, and takes and puts elements at places that tiles hold.
#pragma once

#include "tegula/dsl/create.hpp"
#include "tegula/dsl/memory.hpp"

namespace tegula {

/// Counts the values that `bin_counts` tells apart: the type of `bins<256>`.
template <std::int64_t n>
struct Bins {
  static_assert(n >= 1 && n <= max_tile_elements, "bins: the number must be at least 1 and at most 2^24");
};
template <std::int64_t n>
inline constexpr Bins<n> bins{};

namespace detail {

/// Holds an op on two tiles, the second of which may have another shape.
template <class T, class S, class Op, class A, class B>
class OnTiles : public Recipe<T, S> {
 public:
  constexpr OnTiles(A&& first, B&& second, location where)
      : first_(static_cast<A&&>(first)), second_(static_cast<B&&>(second)), where_(where) {}
  [[nodiscard]] location where() const { return nearest(nearest(where_, first_.where()), second_.where()); }
  trace::Id record(trace::Recorder& recorder, location binding) {
    location const at = nearest(where(), binding);
    trace::Id const a = first_.record(recorder, at);
    trace::Id const b = second_.record(recorder, at);
    return recorder.emit(Op{}, {a, b}, tile_type<T, S>, at);
  }

 private:
  A first_;
  B second_;
  location where_;
};

/// Stands for a tile of zeros.
template <class S>
struct ZeroStarts {
  [[nodiscard]] constexpr location where() const { return {}; }
  trace::Id record(trace::Recorder& recorder, location at) const {
    return recorder.constant(zero_pad<std::int32_t>, tile_type<std::int32_t, S>, at);
  }
};

/// True for a tile whose elements are counted; for one that takes part in an error already.
template <class A>
inline constexpr bool counts_values =
    std::is_same_v<element_t<A>, std::int32_t> || std::is_same_v<element_t<A>, std::uint32_t> || is_invalid<A>;
/// True for a tile of places.
template <class A>
inline constexpr bool has_places = std::is_same_v<element_t<A>, std::int32_t> || is_invalid<A>;
template <class A>
inline constexpr bool is_line = shape_t<A>::rank == 1 || is_invalid<A>;

template <class A, class B, class Starts>
constexpr auto ranked(std::remove_reference_t<A>& x, Starts&& starts, location where) {
  constexpr bool used_once = !named_recipe<A>, line = is_line<A>, integers = counts_values<A>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(line, "ranks: the tile must have one axis: reshape it");
  static_assert(integers, "bin_counts, ranks: the tile must be of int or std::uint32_t: use cast<int>(...)");
  if constexpr (!used_once || !line || !integers || is_invalid<A>)
    return Invalid<std::int32_t, shape_t<A>>();
  else
    return OnTiles<std::int32_t, shape_t<A>, ir::RanksOp, stored_t<A>, B>(stored(x), static_cast<Starts&&>(starts),
                                                                          where);
}

}  // namespace detail

/// Counts elements by value: element b of `bin_counts(x, bins<256>)` is the number of elements of x that are b, as int.
/// Others are not counted. A GPU counts in shared memory, by atomics.
template <detail::TileLike A, std::int64_t n>
constexpr auto bin_counts(A&& x, Bins<n>, location where = location::current()) {
  constexpr bool used_once = !detail::named_recipe<A>, integers = detail::counts_values<A>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(integers, "bin_counts, ranks: the tile must be of int or std::uint32_t: use cast<int>(...)");
  if constexpr (!used_once || !integers || detail::is_invalid<A>)
    return detail::Invalid<std::int32_t, Shape<n>>();
  else
    return detail::Unary<std::int32_t, Shape<n>, ir::HistogramOp, detail::stored_t<A>>(ir::HistogramOp{},
                                                                                       detail::stored(x), where);
}

/// Numbers equal elements in their order: `ranks(x, bins<256>)` is, for each element, the number of equal ones before
/// it in the tile, as int. Elements that are not a bin get -1.
template <detail::TileLike A, std::int64_t n>
constexpr auto ranks(A&& x, Bins<n>, location where = location::current()) {
  using Zeros = detail::ZeroStarts<Shape<n>>;
  return detail::ranked<A, Zeros>(x, Zeros(), where);
}
/// Does the same from `starts` on, a tile of int: an element d gets starts[d] plus the number of equal ones before it.
/// With the first place of each value as its start, ranks are the places of a stable sort.
template <detail::TileLike A, detail::TileLike B>
constexpr auto ranks(A&& x, B&& starts, location where = location::current()) {
  constexpr bool used_once = !detail::named_recipe<B>, integers = detail::has_places<B>, line = detail::is_line<B>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(integers && line, "ranks: the starts must be a tile of int with one axis");
  if constexpr (!used_once || !integers || !line || detail::is_invalid<B>)
    return detail::Invalid<std::int32_t, detail::shape_t<A>>();
  else
    return detail::ranked<A, detail::stored_t<B>>(x, detail::stored(starts), where);
}

/// Takes elements at places: element e of `take_at(x, places)` is x[places[e]], or 0 outside of x, which has one axis.
/// `places` is a tile of int of any shape.
template <detail::TileLike A, detail::TileLike B>
constexpr auto take_at(A&& x, B&& places, location where = location::current()) {
  using T = detail::element_t<A>;
  using S = detail::shape_t<B>;
  constexpr bool used_once = !detail::named_recipe<A> && !detail::named_recipe<B>, line = detail::is_line<A>,
                 integers = detail::has_places<B>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(line, "take_at, put_at: the tile must have one axis: reshape it");
  static_assert(integers, "take_at, put_at: the places must be a tile of int: use cast<int>(...)");
  if constexpr (!used_once || !line || !integers || detail::is_invalid<A> || detail::is_invalid<B>)
    return detail::Invalid<T, S>();
  else
    return detail::OnTiles<T, S, ir::TakeOp, detail::stored_t<A>, detail::stored_t<B>>(detail::stored(x),
                                                                                       detail::stored(places), where);
}

/// Puts elements at places: element places[e] of `put_at(x, places)` is x[e]. Both tiles have one axis of the same
/// extent, and `places`, of int, names each place once: the simulator checks it, elsewhere the result is anything.
template <detail::TileLike A, detail::TileLike B>
constexpr auto put_at(A&& x, B&& places, location where = location::current()) {
  using T = detail::element_t<A>;
  using S = detail::shape_t<A>;
  constexpr bool used_once = !detail::named_recipe<A> && !detail::named_recipe<B>,
                 line = detail::is_line<A> && detail::is_line<B>, integers = detail::has_places<B>;
  constexpr bool agrees = std::is_same_v<S, detail::shape_t<B>> || detail::is_invalid<A> || detail::is_invalid<B>;
  static_assert(used_once, TEGULA_NAMED_RECIPE);
  static_assert(line, "take_at, put_at: the tile must have one axis: reshape it");
  static_assert(integers, "take_at, put_at: the places must be a tile of int: use cast<int>(...)");
  static_assert(agrees || !line, "put_at: there must be one place for each element of the tile");
  if constexpr (!used_once || !line || !integers || !agrees || detail::is_invalid<A> || detail::is_invalid<B>)
    return detail::Invalid<T, S>();
  else
    return detail::OnTiles<T, S, ir::PutOp, detail::stored_t<A>, detail::stored_t<B>>(detail::stored(x),
                                                                                      detail::stored(places), where);
}

}  // namespace tegula
