// Device functions: generic bodies whose arguments are bound left to right before the body runs.
#pragma once

#include <tuple>

#include "tegula/dsl/control.hpp"

namespace tegula {

/// Whether a device function becomes a function of the IR. Unset: it is inlined where it is traced.
struct NoInline {};
inline constexpr NoInline noinline;

/// A device function: called like its lambda, with recipes bound to tiles first, left to right. It may be called as a
/// statement and from any other function; what it returns is recorded. On host<T> it runs as it stands.
template <class F>
class Function {
 public:
  constexpr explicit Function(F body) : body_(static_cast<F&&>(body)) {}

  template <class... X>
  constexpr auto operator()(X&&... arguments) const {
    static_assert((!detail::named_recipe<X> && ...), TEGULA_NAMED_RECIPE);
    if constexpr (!(detail::named_recipe<X> || ...))
      return with(std::tuple<decltype(bind(static_cast<X&&>(arguments)))...>{bind(static_cast<X&&>(arguments))...},
                  std::index_sequence_for<X...>());
  }

 private:
  // An argument as the body sees it: a recipe becomes a tile.
  template <class X>
  static constexpr auto bind(X&& x) {
    if constexpr (detail::RecipeLike<X>)
      return detail::tile_of<X>(static_cast<X&&>(x), x.where());
    else
      return static_cast<X&&>(x);
  }

  template <class Tuple, std::size_t... at>
  constexpr auto with(Tuple const& values, std::index_sequence<at...>) const {
    using Result = decltype(body_(std::get<at>(values)...));
    if constexpr (std::is_void_v<Result>)
      body_(std::get<at>(values)...);
    else
      return bind(body_(std::get<at>(values)...));
  }

  [[no_unique_address]] F body_;
};

template <class F>
constexpr Function<F> function(F body) {
  return Function<F>(static_cast<F&&>(body));
}
template <class F>
constexpr Function<F> function(F body, NoInline) {
  static_assert(
      detail::never<F>,
      "function(..., noinline): calls in the IR are not recorded yet; leave noinline out, and the body is inlined");
  return Function<F>(static_cast<F&&>(body));
}

}  // namespace tegula
