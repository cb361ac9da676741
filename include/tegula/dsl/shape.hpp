// Makes static extents, axes and depths values of their own types.
#pragma once

#include <utility>

#include "tegula/dsl/constant.hpp"
#include "tegula/ir/ops/control.hpp"
#include "tegula/ir/type.hpp"

namespace tegula {

/// Holds the extents of a tile, outermost first: the type of `shape<128, 64>`.
template <std::int64_t... extents>
struct Shape {
  static_assert(((extents > 0) && ...), "shape: every extent must be at least 1");
  static_assert(sizeof...(extents) <= static_cast<unsigned>(max_rank), "shape: a tile must have at most 8 axes");
  static constexpr int rank = static_cast<int>(sizeof...(extents));
  static constexpr Extents list = {extents...};
  static constexpr std::int64_t elements = list.product();
  static_assert(elements <= max_tile_elements, "shape: a tile must have at most 16777216 elements");
};
template <std::int64_t... extents>
inline constexpr Shape<extents...> shape{};

/// Holds axes of a tile: the type of `axis<1>`. Negative ones count from the last, which is -1.
template <int... axes>
struct Axis {};
template <int... axes>
inline constexpr Axis<axes...> axis{};

/// Holds the depth of a loop's circular buffers, and the number of iterations by which a copy precedes its use. The
/// type of `stages<4>`, whose copies begin as early as the stages allow (at most 4 ahead), and of `stages<4, 2>`.
/// `exact`: the type of `exactly(stages<4>)`.
template <int depth, int distance = 0, bool exact = false>
struct Stages {
  static_assert(depth >= 0, "stages: a depth must be at least 1, or 0 for the compiler's choice");
  static_assert(depth <= ir::ForOp::max_stages, "stages: a depth must be at most 64");
  static_assert(distance >= 0 && (distance < depth || distance == 0),
                "stages<n, d>: the prefetch distance d must be at least 0 and less than n");
};
template <int depth, int distance = 0>
inline constexpr Stages<depth, distance> stages{};

/// Refuses the kernel where that many stages do not fit into shared memory: `exactly(stages<4>)`. Without it buffers
/// get as many as fit.
template <int depth, int distance>
constexpr Stages<depth, distance, true> exactly(Stages<depth, distance>) {
  static_assert(depth > 0, "exactly: a depth must be at least 1");
  return {};
}

/// Holds the number of iterations of a loop that the code generator joins: the type of `unroll<4>`.
template <int factor>
struct Unroll {
  static_assert(factor >= 0, "unroll: a factor must be at least 1, or 0 for the compiler's choice");
  static_assert(factor <= ir::ForOp::max_unrolled, "unroll: a factor must be at most 64");
};
template <int factor>
inline constexpr Unroll<factor> unroll{};

namespace detail {

template <class S>
inline constexpr bool is_shape = false;
template <std::int64_t... extents>
inline constexpr bool is_shape<Shape<extents...>> = true;

template <class X>
inline constexpr bool is_axis = false;
template <int... axes>
inline constexpr bool is_axis<Axis<axes...>> = true;
template <class X>
concept AxisLike = is_axis<bare<X>>;

/// Returns the IR type of a tile.
template <class T, class S>
inline constexpr ir::Type tile_type = ir::Type::tile(element_of<T>::value, S::list);

/// Makes a shape from computed extents: Make::extents is Extents. (Spelled out in steps: GCC 12 confuses alias
/// templates over expressions of dependent members.)
template <class Make>
struct ExtentCount {
  static constexpr int value = Make::extents.size();
};
template <class Make, int at>
struct ExtentAt {
  static constexpr std::int64_t value = Make::extents[at];
};
template <class Make, class Sequence>
struct ShapeOfSequence;
template <class Make, int... at>
struct ShapeOfSequence<Make, std::integer_sequence<int, at...>> {
  using type = Shape<ExtentAt<Make, at>::value...>;
};
template <class Make>
struct ShapeFrom {
  using type = typename ShapeOfSequence<Make, std::make_integer_sequence<int, ExtentCount<Make>::value>>::type;
};
template <class Make>
using shape_from = typename ShapeFrom<Make>::type;

constexpr bool broadcasts(Extents const& a, Extents const& b) {
  if (a.size() != b.size()) return false;
  for (int i = 0; i < a.size(); ++i)
    if (a[i] != b[i] && a[i] != 1 && b[i] != 1) return false;
  return true;
}
constexpr Extents broadcast_extents(Extents const& a, Extents const& b) {
  if (!broadcasts(a, b)) return a;
  Extents result = a;
  for (int i = 0; i < a.size(); ++i)
    if (a[i] == 1) result[i] = b[i];
  return result;
}

template <class A, class B>
struct Broadcast {
  static constexpr Extents extents = broadcast_extents(A::list, B::list);
};
template <class A, class B>
struct BroadcastShape {
  using type = shape_from<Broadcast<A, B>>;
};
template <class A>
struct BroadcastShape<A, A> {
  using type = A;
};
template <class A, class B>
using broadcast_shape = typename BroadcastShape<A, B>::type;

/// Wraps an axis: negative ones count from the end; -1 when out of range.
constexpr int wrap_axis(int axis, int rank) {
  if (axis < 0) axis += rank;
  return axis >= 0 && axis < rank ? axis : -1;
}

/// Sorts axes, made positive; empty when one is out of range or is given twice.
constexpr Extents sorted_axes(std::initializer_list<int> axes, int rank) {
  Extents result;
  for (int candidate = 0; candidate < rank; ++candidate)
    for (int a : axes)
      if (wrap_axis(a, rank) == candidate) {
        if (!result.empty() && result.back() == candidate) return {};
        result.push_back(candidate);
      }
  return result.size() == static_cast<int>(axes.size()) ? result : Extents{};
}

/// Carries facts for messages: a compiler prints their arguments.
template <class Found, class Expected>
inline constexpr bool same_shape = std::is_same_v<Found, Expected>;
template <class Found, class Expected>
inline constexpr bool same_element = std::is_same_v<Found, Expected>;
template <std::int64_t inner_of_lhs, std::int64_t inner_of_rhs>
inline constexpr bool inner_dimensions_agree = inner_of_lhs == inner_of_rhs;

}  // namespace detail
}  // namespace tegula
