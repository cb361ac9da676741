// Lists the members of an aggregate, and their types.
#pragma once

#include <utility>

#include "tegula/dsl/constant.hpp"

namespace tegula::detail {

template <class... X>
struct TypeList {
  static constexpr int size = static_cast<int>(sizeof...(X));
};

inline constexpr int max_members = 32;

struct AnyMember {
  template <class X>
  operator X() const;
};

template <class X, class Indices>
inline constexpr bool has_members = false;
template <class X, int... i>
inline constexpr bool has_members<X, std::integer_sequence<int, i...>> = requires {
  X{(static_cast<void>(i), AnyMember{})...};
};

/// Counts the members of an aggregate, from the maximum down: with fewer initialisers than members, the rest would need
/// default constructors.
template <class X, int max = max_members + 1>
constexpr int member_count() {
  if constexpr (max == 0 || has_members<X, std::make_integer_sequence<int, max>>)
    return max;
  else
    return member_count<X, max - 1>();
}
/// True for an aggregate whose members structured bindings name.
template <class X>
inline constexpr bool counts_members = member_count<X>() >= 1 && member_count<X>() <= max_members;

/// States the members of a type that structured bindings do not decompose; dsl/hana.hpp specialises it:
/// - `types`, a TypeList, and `with(x, f)`, which returns f(members...),
/// - `made_of_members`, true if X{members...} makes an X of all of them.
template <class X>
struct StatedMembers;
template <class X>
concept StatesMembers = requires {
  typename StatedMembers<X>::types;
};

/// Counts the members of an aggregate, of a tuple, or of a type that states them.
template <class X>
struct BoundMembers {
  static constexpr int value = member_count<X>();
};
template <class X>
requires requires { std::tuple_size<X>::value; }
struct BoundMembers<X> {
  static constexpr int value = static_cast<int>(std::tuple_size<X>::value);
};
template <StatesMembers X>
struct BoundMembers<X> {
  static constexpr int value = StatedMembers<X>::types::size;
};
#define TEGULA_MADE_OF_MEMBERS                                                                                     \
  "a struct of Boost.Hana must be made from the members that it lists, in that order: X{a, b, ...}; an aggregate " \
  "lists "                                                                                                         \
  "all of them, in the order of their declaration"
template <class X>
inline constexpr bool is_made_of_members = true;
template <StatesMembers X>
inline constexpr bool is_made_of_members<X> = StatedMembers<X>::made_of_members;
/// True if with_members passes the members of X, of which there are some, and X{members...} makes it again.
template <class X>
inline constexpr bool has_listed_members = is_made_of_members<X>&& BoundMembers<X>::value >= 1 &&
                                           (BoundMembers<X>::value <= max_members || StatesMembers<X>);

template <class... X>
constexpr TypeList<bare<X>...> as_list(X&...) {
  return {};
}

// Eight names and their multiples. C++20 has no list of a number of names that depends on a parameter.
#define TEGULA_8 a1, a2, a3, a4, a5, a6, a7, a8
#define TEGULA_16 TEGULA_8, b1, b2, b3, b4, b5, b6, b7, b8
#define TEGULA_24 TEGULA_16, c1, c2, c3, c4, c5, c6, c7, c8
#define TEGULA_MEMBERS(n, ...)  \
  if constexpr (count == (n)) { \
    auto& [__VA_ARGS__] = x;    \
    return f(__VA_ARGS__);      \
  } else
#define TEGULA_FURTHER(from, ...)                                    \
  TEGULA_MEMBERS((from) + 1, __VA_ARGS__ z1)                         \
  TEGULA_MEMBERS((from) + 2, __VA_ARGS__ z1, z2)                     \
  TEGULA_MEMBERS((from) + 3, __VA_ARGS__ z1, z2, z3)                 \
  TEGULA_MEMBERS((from) + 4, __VA_ARGS__ z1, z2, z3, z4)             \
  TEGULA_MEMBERS((from) + 5, __VA_ARGS__ z1, z2, z3, z4, z5)         \
  TEGULA_MEMBERS((from) + 6, __VA_ARGS__ z1, z2, z3, z4, z5, z6)     \
  TEGULA_MEMBERS((from) + 7, __VA_ARGS__ z1, z2, z3, z4, z5, z6, z7) \
  TEGULA_MEMBERS((from) + 8, __VA_ARGS__ z1, z2, z3, z4, z5, z6, z7, z8)

/// Calls f with the members of an aggregate or a tuple of at most max_members, or with those that a type states.
template <class X, class F>
requires(!StatesMembers<std::remove_const_t<X>>) constexpr decltype(auto) with_members(X& x, F&& f) {
  constexpr int count = BoundMembers<std::remove_const_t<X>>::value;
  // clang-format off
  TEGULA_FURTHER(0, )
  TEGULA_FURTHER(8, TEGULA_8,)
  TEGULA_FURTHER(16, TEGULA_16,)
  TEGULA_FURTHER(24, TEGULA_24,)
  // clang-format on
  return f();
}
template <class X, class F>
requires StatesMembers<std::remove_const_t<X>>
constexpr decltype(auto) with_members(X& x, F&& f) {
  return StatedMembers<std::remove_const_t<X>>::with(x, static_cast<F&&>(f));
}

/// Lists their types; never evaluated.
template <class X>
auto member_types(X& x) {
  if constexpr (StatesMembers<X>)
    return typename StatedMembers<X>::types();
  else
    return with_members(x, [](auto&... members) { return as_list(members...); });
}

#undef TEGULA_FURTHER
#undef TEGULA_MEMBERS
#undef TEGULA_24
#undef TEGULA_16
#undef TEGULA_8

}  // namespace tegula::detail
