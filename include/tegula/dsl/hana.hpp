// Makes groups of tiles and structs of parameters of Boost.Hana's types: hana::tuple, and what BOOST_HANA_ADAPT_STRUCT
// or BOOST_HANA_DEFINE_STRUCT describes, with any number of members. It is not part of <tegula/tegula.hpp>: a program
// that includes it, before the kernels that use such types, has Boost (package libboost-dev).
#pragma once

#include <boost/hana/accessors.hpp>
#include <boost/hana/adapt_struct.hpp>
#include <boost/hana/define_struct.hpp>
#include <boost/hana/second.hpp>
#include <boost/hana/tuple.hpp>
#include <boost/hana/unpack.hpp>
#include <memory>

#include "tegula/dsl/members.hpp"

namespace tegula::detail {

template <class... X>
struct StatedMembers<boost::hana::tuple<X...>> {
  using types = TypeList<bare<X>...>;
  static constexpr bool made_of_members = !(std::is_reference_v<X> || ...);
  template <class Tuple, class F>
  static constexpr decltype(auto) with(Tuple& x, F&& f) {
    return boost::hana::unpack(x, static_cast<F&&>(f));
  }
};

/// Accepts a struct of Hana that structured bindings do not decompose. Aggregates of few members are taken without
/// Hana, in the order of their declaration, so that they are the same with and without this header.
template <class X>
concept HanaStruct = boost::hana::Struct<X>::value &&(!std::is_aggregate_v<X> || !counts_members<X>);

/// Calls f with the members of a struct.
template <class X, class F>
constexpr decltype(auto) with_hana_members(X& x, F&& f) {
  return boost::hana::unpack(
      boost::hana::accessors<std::remove_const_t<X>>(),
      [&](auto const&... named) -> decltype(auto) { return f(boost::hana::second(named)(x)...); });
}

/// Has no definition: only the places of its members are compared, at compile time.
template <class X>
extern X const never_made;

/// True if two members of one type lie in memory as they are numbered. Pointers to different types do not compare.
template <class A, class B>
constexpr bool lies_in_order(A const& a, int number_of_a, B const& b, int number_of_b) {
  if constexpr (std::is_same_v<A, B>)
    return (number_of_a < number_of_b) == (std::addressof(a) < std::addressof(b));
  else
    return true;
}

#ifdef __clang__
#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wundefined-var-template"
#endif
/// True if Hana lists the members in the order of their declaration.
template <class X>
constexpr bool in_declared_order() {
  return with_hana_members(never_made<X>, [](auto const&... member) {
    int number = 0;
    auto const is_placed = [&](auto const& one) {
      int other = 0;
      ++number;
      return (lies_in_order(one, number, member, ++other) && ...);
    };
    return (is_placed(member) && ...);
  });
}
#ifdef __clang__
#pragma clang diagnostic pop
#endif

/// True if X{members...} makes an X of all of its members. Getters return Member, not Member&.
template <class X, class... Member>
constexpr bool made_of(TypeList<Member...>) {
  if constexpr (!(std::is_lvalue_reference_v<Member> && ...))
    return false;
  else if constexpr (!requires { X{std::declval<bare<Member>>()...}; })
    return false;
  else if constexpr (std::is_aggregate_v<X>)
    return !has_members<X, std::make_integer_sequence<int, sizeof...(Member) + 1>> && in_declared_order<X>();
  else
    return true;
}

template <HanaStruct X>
struct StatedMembers<X> {
 private:
  template <class... Member>
  static TypeList<bare<Member>...> without_references(TypeList<Member...>);
  using given = decltype(with_hana_members(std::declval<X&>(),
                                           []<class... Member>(Member&&...) { return TypeList<Member...>(); }));

 public:
  using types = decltype(without_references(given()));
  static constexpr bool made_of_members = made_of<X>(given());
  template <class Object, class F>
  static constexpr decltype(auto) with(Object& x, F&& f) {
    return with_hana_members(x, static_cast<F&&>(f));
  }
};

}  // namespace tegula::detail
