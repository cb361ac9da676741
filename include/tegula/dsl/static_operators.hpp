// Defines operators with integral constants of other libraries (std::integral_constant, Boost.Hana's). The overloads
// are more special than a library's own templates over any two types, so that those never win or make a call ambiguous.
#pragma once

#include "tegula/dsl/operators.hpp"

namespace tegula {

namespace detail {

template <class T, T number>
constexpr auto plain() {
  if constexpr (std::is_same_v<T, bool>)
    return number;
  else
    return Static<static_cast<std::int64_t>(number)>();
}

}  // namespace detail

#define TEGULA_STATIC_OPERATOR(symbol)                                                 \
  template <detail::Traced A, class T, T number, template <class U, U> class Constant> \
  constexpr auto operator symbol(A&& a, Constant<T, number>) {                         \
    return static_cast<A&&>(a) symbol detail::plain<T, number>();                      \
  }                                                                                    \
  template <class T, T number, template <class U, U> class Constant, detail::Traced B> \
  constexpr auto operator symbol(Constant<T, number>, B&& b) {                         \
    return detail::plain<T, number>() symbol static_cast<B&&>(b);                      \
  }
TEGULA_STATIC_OPERATOR(+)
TEGULA_STATIC_OPERATOR(-)
TEGULA_STATIC_OPERATOR(*)
TEGULA_STATIC_OPERATOR(/)
TEGULA_STATIC_OPERATOR(%)
TEGULA_STATIC_OPERATOR(<<)
TEGULA_STATIC_OPERATOR(>>)
TEGULA_STATIC_OPERATOR(&)
TEGULA_STATIC_OPERATOR(|)
TEGULA_STATIC_OPERATOR(^)
TEGULA_STATIC_OPERATOR(==)
TEGULA_STATIC_OPERATOR(!=)
TEGULA_STATIC_OPERATOR(<)
TEGULA_STATIC_OPERATOR(<=)
TEGULA_STATIC_OPERATOR(>)
TEGULA_STATIC_OPERATOR(>=)
TEGULA_STATIC_OPERATOR(&&)
TEGULA_STATIC_OPERATOR(||)
#undef TEGULA_STATIC_OPERATOR

}  // namespace tegula
