// Defines tile<Element, Shape>: the name of one recorded value.
#pragma once

#include "tegula/dsl/param.hpp"

namespace tegula {

/// Names a recorded value: flat, copyable, usable any number of times. Binding a recipe makes it: `tile x = a + b;`. A
/// tile belongs to the kernel and to the loop or branch that made it. A variable remembers its region: assigning to it
/// in a deeper one is an error.
template <ElementType T, class S>
class tile : public detail::NoTruth {
 public:
  using element = T;
  using tile_shape = S;
  static constexpr bool is_recipe = false;

  /// Catches `tile<float, Shape<64>> x;`, for the sentence.
  template <class Dummy = void>
  tile() : home_(0) {
    static_assert(
        detail::never<Dummy>,
        "a tile must have a value from the beginning: write tile x = zeros<T>(shape<...>), or declare it where its "
        "value is known");
  }
  explicit tile(trace::Handle handle) : handle_(handle), home_(trace::Recorder::home()) {}

  /// Records the recipe.
  template <detail::RecipeLike R>
  tile(R&& recipe, location where = location::current()) : home_(trace::Recorder::home()) {
    check<R>();
    if constexpr (sound<R>) assign(recipe, where);
  }

  tile(tile const& other) : NoTruth(), handle_(other.handle_), home_(trace::Recorder::home()) {}
  tile& operator=(tile const& other) {
    check_home({});
    handle_ = other.handle_;
    return *this;
  }
  template <detail::RecipeLike R>
  tile& operator=(R&& recipe) {
    check<R>();
    if constexpr (sound<R>) {
      check_home(recipe.where());
      assign(recipe, recipe.where());
    }
    return *this;
  }

  [[nodiscard]] trace::Handle handle() const { return handle_; }

  /// Catches `x[0]`, for the sentence.
  template <class I>
  tile const& operator[](I const&) const {
    static_assert(detail::never<I>,
                  "a tile must not be indexed by []: item(x, i) returns one element as a scalar, slice(x, shape<...>, "
                  "offset<...>) a part, take_at(x, places) the elements at a tile of places");
    return *this;
  }

 private:
  template <class R>
  static constexpr bool sound = !detail::named_recipe<R> && !detail::is_invalid<R> &&
                                std::is_same_v<detail::element_t<R>, T> && std::is_same_v<detail::shape_t<R>, S>;
  template <class R>
  static constexpr void check() {
    constexpr bool used_once = !detail::named_recipe<R>;
    static_assert(used_once, TEGULA_NAMED_RECIPE);
    if constexpr (used_once && !detail::is_invalid<R>) {
      static_assert(detail::same_element<detail::element_t<R>, T>,
                    "tile: the recipe must have the variable's element: use cast<T>(...)");
      static_assert(detail::same_shape<detail::shape_t<R>, S>, "tile: the recipe must have the variable's shape");
    }
  }
  void check_home(location where) const {
    if (auto* recorder = trace::Recorder::active()) recorder->check_assign(handle_.trace, home_, where);
  }
  template <class R>
  void assign(R& recipe, location where) {
    auto& recorder = trace::Recorder::current("tile", where);
    handle_ = recorder.handle(recipe.record(recorder, where));
  }

  trace::Handle handle_;
  std::int32_t home_;
};

namespace detail {
template <class X>
struct NoTile {};
}  // namespace detail

/// Catches `tile x = 3;`, for the sentence.
template <ElementType T, class X>
class tile<T, detail::NoTile<X>> {
  static_assert(detail::never<X>,
                "a tile must be bound to an expression of tiles: index expressions and numbers are bound with auto, "
                "and full(shape<...>, x) makes a tile of them");

 public:
  template <class Y>
  tile(Y const&) {}
};
template <class X>
requires(!detail::TileLike<X>) tile(X&&)
->tile<float, detail::NoTile<detail::bare<X>>>;

template <detail::TileLike R>
tile(R&&) -> tile<detail::element_t<R>, detail::shape_t<R>>;
template <detail::TileLike R>
tile(R&&, location) -> tile<detail::element_t<R>, detail::shape_t<R>>;

}  // namespace tegula
