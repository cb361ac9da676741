// Defines tiles, recipes, traced scalars and tensor parameters by concepts, with the base classes that mark them.
#pragma once

#include "tegula/dsl/shape.hpp"

namespace tegula {

template <ElementType T>
class scalar;
template <ElementType T, class S>
class tile;

namespace detail {

/// Accepts a tile or a recipe for one.
template <class X>
concept TileLike = requires {
  typename bare<X>::tile_shape;
};
template <class X>
concept RecipeLike = TileLike<X> && bare<X>::is_recipe;
/// Accepts a run-time scalar: an index expression or an `arg`.
template <class X>
concept ScalarLike = requires {
  typename bare<X>::scalar_element;
};
/// Accepts a parameter in global memory.
template <class X>
concept TensorLike = requires {
  bare<X>::tensor_rank;
};
/// Accepts anything whose value is known only when the kernel runs.
template <class X>
concept Traced = TileLike<X> || ScalarLike<X> || TensorLike<X>;

template <class X>
using element_t = typename bare<X>::element;
template <class X>
using shape_t = typename bare<X>::tile_shape;

/// True for the result of a refused expression, which every check accepts in silence.
template <class X>
concept InvalidLike = requires {
  requires bare<X>::is_invalid;
};
template <class X>
inline constexpr bool is_invalid = InvalidLike<X>;

/// True for a recipe that has a name already: it would be recorded twice.
template <class X>
inline constexpr bool named_recipe = false;
template <RecipeLike X>
inline constexpr bool named_recipe<X&> = !InvalidLike<X>;

#define TEGULA_NAMED_RECIPE                                                                                      \
  "an expression of tiles is a recipe for one use, and must not be used by name: write `tile x = ...` in place " \
  "of `auto x = ...` (or let(...) in generic code)"

/// Refuses conversion to bool: a traced value has none while the kernel is traced.
struct NoTruth {
  template <class Dummy = void>
  explicit operator bool() const {
    static_assert(never<Dummy>,
                  "a traced value must not be tested for true or false while the kernel is traced: use select, &, |, "
                  "if_ or loop to decide at run time; plain if and if constexpr take C++ values");
    return false;
  }
};

/// Marks all recipes: move-only, with the element and shape of the tile that each makes.
template <class T, class S>
struct Recipe : NoTruth {
  using element = T;
  using tile_shape = S;
  static constexpr bool is_recipe = true;
  Recipe() = default;
  Recipe(Recipe&&) = default;
  Recipe(Recipe const&) = delete;
  Recipe& operator=(Recipe&&) = delete;
  Recipe& operator=(Recipe const&) = delete;
};

/// Replaces a refused expression, so that one mistake causes one error.
template <class T, class S>
struct Invalid : Recipe<T, S> {
  static constexpr bool is_invalid = true;
  [[nodiscard]] location where() const { return {}; }
  trace::Id record(trace::Recorder&, location) { return -1; }
};

}  // namespace detail
}  // namespace tegula
