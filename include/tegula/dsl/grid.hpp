// States the grid and the relations between arguments, once in the kernel.
#pragma once

#include "tegula/dsl/operators.hpp"

namespace tegula {

namespace detail {

/// Holds this block's index along each axis, as grid_over and grid return it.
template <int rank>
class Grid {
 public:
  explicit Grid(trace::Handle const* indices) {
    for (int i = 0; i < rank; ++i) indices_[i] = indices[i];
  }
  /// Returns the index along an axis; a negative axis counts from the last.
  [[nodiscard]] scalar<std::int64_t> operator[](int axis) const {
    int const at = wrap_axis(axis, rank);
    if (at < 0) trace::Recorder::current("grid", {}).refuse_grid_axis(axis, rank);
    return scalar<std::int64_t>(indices_[at]);
  }
  template <std::int64_t axis>
  [[nodiscard]] scalar<std::int64_t> operator[](Static<axis>) const {
    static_assert(wrap_axis(static_cast<int>(axis), rank) >= 0, "grid: it must have this axis");
    return (*this)[static_cast<int>(axis)];
  }

 private:
  trace::Handle indices_[rank];
};

}  // namespace detail

/// Returns a / b rounded up, for a >= 0 and b > 0, of integers: numbers, index expressions and tiles.
template <class A, class B>
requires(detail::TileLike<A> || detail::TileLike<B>) constexpr auto ceil_div(A&& a, B&& b) {
  return detail::check_operands<detail::operand_problem<detail::Domain::integers, A, B>(), A, B>(),
         detail::binary<detail::Domain::integers, void, ir::CeilDivOp, A, B>({}, a, b);
}
template <class A, class B>
requires(!detail::TileLike<A> && !detail::TileLike<B> &&
         (detail::ScalarLike<A> ||
          detail::ScalarLike<B>)) constexpr auto ceil_div(A const& a, B const& b,
                                                          location where = location::current()) {
  detail::check_operands<detail::operand_problem<detail::Domain::integers, A const, B const>(), A, B>();
  return detail::binary<detail::Domain::integers, void, ir::CeilDivOp, A const, B const>({}, a, b, where);
}
template <detail::Integer A, detail::Integer B>
constexpr std::int64_t ceil_div(A a, B b) {
  std::int64_t const n = a, d = b;
  return (n + d - 1) / d;
}

/// Covers a tensor with tiles of a shape: ceil(extent / tile) blocks along each axis. Along axes that the shape lacks
/// it takes one block per element. Returns this block's index along each axis of the tensor. Called once in a kernel.
template <detail::TensorLike P, std::int64_t... extents>
detail::Grid<P::tensor_rank> grid_over(P const& tensor, Shape<extents...>, location where = location::current()) {
  constexpr int rank = P::tensor_rank;
  using S = Shape<extents...>;
  constexpr bool rank_fits = S::rank <= rank;
  static_assert(rank_fits, "grid_over: the shape must not have more axes than the tensor");
  auto& recorder = trace::Recorder::current("grid_over", where);
  trace::Id const source = recorder.use(tensor.handle(), where);
  trace::Id counts[rank] = {};
  for (int i = 0; i < rank; ++i) {
    int const at = i - (rank - S::rank);
    trace::Id const tile_extent = recorder.index_value({{}, at < 0 ? 1 : S::list[at], false}, where);
    counts[i] = recorder.emit_scalar(ir::CeilDivOp(), {recorder.extent(source, i, where), tile_extent},
                                     ir::Type::index(), where);
  }
  trace::Handle indices[rank] = {};
  recorder.grid("grid_over", counts, rank, indices, where);
  return detail::Grid<rank>(indices);
}

/// States a grid of the given numbers of blocks; in a kernel it returns this block's index along each axis, the last
/// running fastest. Before the arguments of a launch, given in plain numbers, it replaces the kernel's own grid.
template <class... Counts>
class grid : public detail::Grid<static_cast<int>(sizeof...(Counts))> {
  static constexpr int rank = static_cast<int>(sizeof...(Counts));
  struct Indices {
    trace::Handle list[rank] = {};
  };

 public:
  grid(Counts... counts, location where = location::current())
      : detail::Grid<rank>(state(where, counts...).list), counts_{blocks(counts, where)...} {}

  /// Returns the number of blocks along an axis that was given as a plain number; for `launch`.
  [[nodiscard]] std::int64_t count(int axis) const { return counts_[axis]; }
  static constexpr bool plain = (detail::Integer<Counts> && ...);
  static constexpr int grid_rank = rank;

 private:
  std::int64_t counts_[rank];

  template <class Count>
  static std::int64_t blocks(Count const& count, location where) {
    trace::Coordinate const written = detail::coordinate(count);
    if (written.kind == trace::Literal::Kind::natural)
      trace::refuse_blocks(static_cast<std::uint64_t>(written.number), where);
    return written.number;
  }
  static Indices state(location where, Counts const&... counts) {
    static_assert(rank >= 1 && rank <= max_rank, "grid: 1 to 8 numbers of blocks must be given");
    if (plain && trace::Recorder::active() == nullptr) return {};
    auto& recorder = trace::Recorder::current("grid", where);
    trace::Id const ids[rank] = {recorder.index_value(detail::coordinate(counts), where)...};
    Indices indices;
    recorder.grid("grid", ids, rank, indices.list, where);
    return indices;
  }
};
template <class... Counts>
grid(Counts...) -> grid<Counts...>;

/// Requires a relation between extents and integer arguments. The host checks it at every launch; a breach is a
/// UserError with this message. It stands outside of loops and branches.
template <class C>
void require(C const& condition, char const* message, location where = location::current()) {
  constexpr bool comparison = std::is_same_v<detail::scalar_element_t<C>, bool> || std::is_same_v<C, bool>;
  static_assert(comparison, "require: the condition must be a comparison of extents and arguments");
  if constexpr (comparison) {
    auto& recorder = trace::Recorder::current("require", where);
    recorder.require(detail::scalar_id<bool>(recorder, condition, where), message, where);
  }
}

}  // namespace tegula
