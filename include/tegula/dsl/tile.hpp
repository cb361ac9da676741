// tile<Element, Shape>: the name of one recorded value.
#pragma once

#include "tegula/dsl/param.hpp"

namespace tegula {

/// Flat, copyable, used as often as wanted; made by binding a recipe: `tile x = a + b;`. A tile belongs to the kernel
/// and to the loop or branch that made it. A variable remembers its region: assigning to it in a deeper one is an error.
template <ElementType T, class S>
class tile : public detail::NoTruth {
 public:
  using element = T;
  using tile_shape = S;
  static constexpr bool is_recipe = false;

  explicit tile(trace::Handle handle) : handle_(handle), home_(trace::Recorder::home()) {}

  /// Records the recipe.
  template <detail::RecipeLike R>
  tile(R&& recipe, location where = location::current()) : home_(trace::Recorder::home()) {
    static_assert(!detail::named_recipe<R>, TEGULA_NAMED_RECIPE);
    static_assert(detail::Holds<detail::Elements<detail::element_t<R>, T>>, "tile: the recipe has another element; use cast");
    static_assert(detail::Holds<detail::SameShape<detail::shape_t<R>, S>>, "tile: the recipe has another shape");
    if constexpr (!detail::named_recipe<R>) assign(recipe, where);
  }

  tile(tile const& other) : NoTruth(), handle_(other.handle_), home_(trace::Recorder::home()) {}
  tile& operator=(tile const& other) {
    check_home({});
    handle_ = other.handle_;
    return *this;
  }
  template <detail::RecipeLike R>
  tile& operator=(R&& recipe) {
    static_assert(!detail::named_recipe<R>, TEGULA_NAMED_RECIPE);
    static_assert(detail::Holds<detail::Elements<detail::element_t<R>, T>>, "tile: the recipe has another element; use cast");
    static_assert(detail::Holds<detail::SameShape<detail::shape_t<R>, S>>, "tile: the recipe has another shape");
    if constexpr (!detail::named_recipe<R>) {
      check_home(recipe.where());
      assign(recipe, recipe.where());
    }
    return *this;
  }

  [[nodiscard]] trace::Handle handle() const { return handle_; }

 private:
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

template <detail::TileLike R>
tile(R&&) -> tile<detail::element_t<R>, detail::shape_t<R>>;
template <detail::TileLike R>
tile(R&&, location) -> tile<detail::element_t<R>, detail::shape_t<R>>;

}  // namespace tegula
