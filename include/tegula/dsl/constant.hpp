// Handles numbers in a kernel's text: values known at compile time, infinity, and the types that count as numbers.
#pragma once

#include <cstdint>
#include <type_traits>

#include "tegula/dsl/element.hpp"
#include "tegula/trace/recorder.hpp"

namespace tegula {

/// Holds an integer as a type: `128_c`. Any class with a static integral `value` (std::integral_constant, Hana's
/// constants) serves in its place.
template <std::int64_t number>
struct Static {
  static constexpr std::int64_t value = number;
  constexpr operator std::int64_t() const { return number; }
  constexpr Static<-number> operator-() const { return {}; }
};

inline namespace literals {
/// Makes a constant: `128_c`, of decimal digits, with ' between them allowed.
template <char... digits>
constexpr auto operator""_c() {
  constexpr std::int64_t number = [] {
    std::int64_t sum = 0;
    for (char digit : {digits...})
      if (digit != '\'') sum = 10 * sum + (digit - '0');
    return sum;
  }();
  static_assert(((digits == '\'' || (digits >= '0' && digits <= '9')) && ...),
                "_c: the number must be a decimal integer");
  return Static<number>{};
}
}  // namespace literals

/// Stands for the infinity of the element it meets: `pad(-inf)`.
struct Infinity {
  bool negative = false;
  constexpr Infinity operator-() const { return {!negative}; }
  constexpr operator double() const { return negative ? -__builtin_huge_val() : __builtin_huge_val(); }
};
inline constexpr Infinity inf;

namespace detail {

template <class X>
using bare = std::remove_cvref_t<X>;

template <class...>
inline constexpr bool never = false;

template <auto>
using always_true = std::true_type;

template <class X>
concept StaticNumber = std::is_class_v<bare<X>> && requires {
  typename always_true<static_cast<std::int64_t>(bare<X>::value)>;
};

/// True for a float that stores and does not compute.
template <class X>
concept NarrowFloat = ElementType<bare<X>> && is_narrow_float(element_of<bare<X>>::value);

/// Accepts a C++ number in a kernel's text.
template <class X>
concept Number =
    std::is_arithmetic_v<bare<X>> || StaticNumber<X> || NarrowFloat<X> || std::is_same_v<bare<X>, Infinity>;

enum class NumberKind { integer, floating, boolean };

template <class X>
constexpr NumberKind number_kind() {
  using B = bare<X>;
  if constexpr (std::is_same_v<B, bool>)
    return NumberKind::boolean;
  else if constexpr (StaticNumber<X>)
    return std::is_same_v<bare<decltype(B::value)>, bool> ? NumberKind::boolean : NumberKind::integer;
  else if constexpr (std::is_integral_v<B>)
    return NumberKind::integer;
  else
    return NumberKind::floating;
}

template <Number X>
constexpr trace::Literal literal(X const& x) {
  trace::Literal result;
  if constexpr (number_kind<X>() == NumberKind::floating) {
    result.kind = trace::Literal::Kind::floating;
    result.floating = static_cast<double>(x);
  } else {
    if constexpr (number_kind<X>() == NumberKind::boolean) result.kind = trace::Literal::Kind::boolean;
    auto const number = [&] {
      if constexpr (StaticNumber<X>)
        return bare<X>::value;
      else
        return x;
    }();
    result.integer = static_cast<std::int64_t>(number);
    if constexpr (std::is_unsigned_v<decltype(number)> && sizeof number == sizeof result.integer)
      if (result.integer < 0) result.kind = trace::Literal::Kind::natural;
  }
  return result;
}

}  // namespace detail
}  // namespace tegula
