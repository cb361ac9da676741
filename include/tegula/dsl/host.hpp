// Defines host<T>: a constexpr scalar with the rules and meanings of a tile's element. It tries generic bodies on the
// host: `static_assert(bias_relu(host(2.f), host(-3.f)) == 0.f)`.
#pragma once

#include "tegula/dsl/operators.hpp"
#include "tegula/math/functions.hpp"

namespace tegula {

/// Holds one element on the host. Arithmetic is the kernel's: each step is rounded to the element (f16 and bf16 too),
/// integers wrap, x / 0 of integers is 0. Numbers take the element and never widen it.
template <ElementType T>
class host {
 public:
  using host_element = T;
  constexpr explicit host(T value) : value_(value) {}
  [[nodiscard]] constexpr T value() const { return value_; }
  constexpr explicit operator T() const { return value_; }

 private:
  T value_;
};
template <ElementType T>
host(T) -> host<T>;

namespace detail {

template <class X>
concept HostLike = requires {
  typename bare<X>::host_element;
};
template <class A, class B>
concept HostOperands = (HostLike<A> || HostLike<B>)&&!Traced<A> && !Traced<B>;

template <class A, class B>
struct HostElement {
  using type = typename bare<A>::host_element;
};
template <class A, HostLike B>
requires(!HostLike<A>) struct HostElement<A, B> {
  using type = typename bare<B>::host_element;
};
template <class A, class B>
using host_element_t = typename HostElement<A, B>::type;

template <Domain domain, class A, class B>
constexpr Problem host_problem() {
  using T = host_element_t<A, B>;
  constexpr Problem problem = [] {
    if constexpr (!HostLike<A>)
      return scalar_problem<T, A>();
    else if constexpr (!HostLike<B>)
      return scalar_problem<T, B>();
    else if constexpr (std::is_same_v<typename bare<A>::host_element, typename bare<B>::host_element>)
      return Problem::none;
    else if constexpr (std::is_same_v<typename bare<A>::host_element, bool> ||
                       std::is_same_v<typename bare<B>::host_element, bool>)
      return Problem::bool_mixed;
    else
      return Problem::elements;
  }();
  if constexpr (problem != Problem::none)
    return problem;
  else
    return domain_problem<T>(domain);
}

/// Names the type that computes for an element: float for the narrow floats.
template <class T>
using compute_t = std::conditional_t<NarrowFloat<T>, float, T>;

/// Converts an operand to T.
template <class T, class X>
constexpr T host_operand(X const& x) {
  if constexpr (HostLike<X>)
    return x.value();
  else if constexpr (StaticNumber<X>)
    return static_cast<T>(bare<X>::value);
  else if constexpr (NarrowFloat<T> || NarrowFloat<X>)
    return static_cast<T>(static_cast<double>(x));
  else
    return static_cast<T>(x);
}

// Adds floats at compile time too, where compilers refuse overflow and division by zero.
struct HostAdd {
  template <class T>
  static constexpr T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return (math::Real<T>{a} + math::Real<T>{b}).value;
    else
      return math::wrapping_add(a, b);
  }
};
struct HostSub {
  template <class T>
  static constexpr T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return (math::Real<T>{a} - math::Real<T>{b}).value;
    else
      return math::wrapping_sub(a, b);
  }
};
struct HostMul {
  template <class T>
  static constexpr T run(T a, T b) {
    if constexpr (std::is_floating_point_v<T>)
      return (math::Real<T>{a} * math::Real<T>{b}).value;
    else
      return math::wrapping_mul(a, b);
  }
};
struct HostDiv {
  template <class T>
  static constexpr T run(T a, T b) {
    if constexpr (!std::is_floating_point_v<T>)
      return math::div(a, b);
    else
      return (math::Real<T>{a} / math::Real<T>{b}).value;
  }
};
struct HostRem {
  template <class T>
  static constexpr T run(T a, T b) {
    return math::rem(a, b);
  }
};
struct HostShl {
  template <class T>
  static constexpr T run(T a, T b) {
    return math::shift_left(a, b);
  }
};
struct HostShr {
  template <class T>
  static constexpr T run(T a, T b) {
    return math::shift_right(a, b);
  }
};
struct HostAnd {
  template <class T>
  static constexpr T run(T a, T b) {
    return static_cast<T>(a & b);
  }
};
struct HostOr {
  template <class T>
  static constexpr T run(T a, T b) {
    return static_cast<T>(a | b);
  }
};
struct HostXor {
  template <class T>
  static constexpr T run(T a, T b) {
    return static_cast<T>(a ^ b);
  }
};
struct HostMax {
  template <class T>
  static constexpr T run(T a, T b) {
    return (math::max)(a, b);
  }
};
struct HostMin {
  template <class T>
  static constexpr T run(T a, T b) {
    return (math::min)(a, b);
  }
};
#define TEGULA_EXPANDED_2(op, name, ...) \
  struct HostFunction_##name {           \
    template <class T>                   \
    static constexpr T run(T a, T b) {   \
      return math::name(a, b);           \
    }                                    \
  };
#include "tegula/math/elementary.def"
struct HostEq {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a == b;
  }
};
struct HostNe {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a != b;
  }
};
struct HostLt {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a < b;
  }
};
struct HostLe {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a <= b;
  }
};
struct HostGt {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a > b;
  }
};
struct HostGe {
  template <class T>
  static constexpr bool run(T a, T b) {
    return a >= b;
  }
};

template <Domain domain, class Result, class Op, class A, class B>
constexpr auto host_binary(A const& a, B const& b) {
  using T = host_element_t<A, B>;
  using R = std::conditional_t<std::is_void_v<Result>, T, Result>;
  constexpr Problem problem = host_problem<domain, A, B>();
  if constexpr (problem == Problem::none)
    return host<R>(static_cast<R>(
        Op::run(static_cast<compute_t<T>>(host_operand<T>(a)), static_cast<compute_t<T>>(host_operand<T>(b)))));
  else
    return host<R>(R());
}

template <class T, class F>
constexpr host<T> host_function(host<T> x, F f) {
  constexpr bool floating = is_float(element_of<T>::value);
  static_assert(!is_narrow<T>, TEGULA_NARROW_ELEMENT);
  static_assert(floating || is_narrow<T>,
                "the elements of this function must be floating (f16, bf16, float, double): use cast<T>(...)");
  if constexpr (floating)
    return host<T>(static_cast<T>(f(static_cast<compute_t<T>>(x.value()))));
  else
    return x;
}

template <class T, class R>
constexpr host<T> host_round(R value) {
  return host<T>(static_cast<T>(value));
}

}  // namespace detail

template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator+(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::numbers, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::numbers, void, detail::HostAdd>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator-(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::numbers, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::numbers, void, detail::HostSub>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator*(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::numbers, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::numbers, void, detail::HostMul>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator/(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::numbers, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::numbers, void, detail::HostDiv>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator%(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::integers, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::integers, void, detail::HostRem>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator<<(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::integers, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::integers, void, detail::HostShl>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator>>(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::integers, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::integers, void, detail::HostShr>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator&(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::bits, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::bits, void, detail::HostAnd>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator|(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::bits, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::bits, void, detail::HostOr>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator^(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::bits, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::bits, void, detail::HostXor>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator==(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::equal, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::equal, bool, detail::HostEq>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator!=(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::equal, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::equal, bool, detail::HostNe>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator<(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::ordered, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::ordered, bool, detail::HostLt>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator<=(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::ordered, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::ordered, bool, detail::HostLe>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator>(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::ordered, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::ordered, bool, detail::HostGt>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto operator>=(A const& a, B const& b) {
  return detail::check_operands<detail::host_problem<detail::Domain::ordered, A, B>(), A, B>(),
         detail::host_binary<detail::Domain::ordered, bool, detail::HostGe>(a, b);
}

template <ElementType T>
constexpr host<T> operator-(host<T> a) {
  static_assert(!std::is_same_v<T, bool>, "the operand of - must be a number, and a bool is not a number: use !");
  static_assert(!detail::is_narrow<T>, TEGULA_NARROW_ELEMENT);
  if constexpr (is_integer(element_v<T>))
    return host<T>(math::wrapping_sub(T(0), a.value()));
  else
    return host<T>(static_cast<T>(-static_cast<detail::compute_t<T>>(a.value())));
}
constexpr host<bool> operator!(host<bool> a) { return host<bool>(!a.value()); }
template <ElementType T>
constexpr host<T> operator~(host<T> a) {
  static_assert(!detail::is_narrow<T>, TEGULA_NARROW_ELEMENT);
  static_assert(detail::in_domain<T>(detail::Domain::bits) || detail::is_narrow<T>,
                "the operand of ~ must be an integer or a bool");
  if constexpr (std::is_same_v<T, bool>)
    return host<T>(!a.value());
  else
    return host<T>(static_cast<T>(~a.value()));
}

#define TEGULA_EXACT(op, name, ...)                                                   \
  template <ElementType T>                                                            \
  constexpr host<T> name(host<T> x) {                                                 \
    return detail::host_function<T>(x, [](auto value) { return math::name(value); }); \
  }
#define TEGULA_EXPANDED TEGULA_EXACT
#define TEGULA_EXPANDED_2(op, name, ...)                                                         \
  template <class A, class B>                                                                    \
  requires detail::HostOperands<A, B>                                                            \
  constexpr auto name(A const& a, B const& b) {                                                  \
    detail::check_operands<detail::host_problem<detail::Domain::floats, A, B>(), A, B>();        \
    return detail::host_binary<detail::Domain::floats, void, detail::HostFunction_##name>(a, b); \
  }
#include "tegula/math/elementary.def"

template <ElementType T>
constexpr host<T>(abs)(host<T> x) {
  static_assert(!std::is_same_v<T, bool>, "abs: the operand must be a number, and a bool is not a number");
  static_assert(!detail::is_narrow<T>, TEGULA_NARROW_ELEMENT);
  if constexpr (is_integer(element_v<T>))
    return x.value() < 0 ? -x : x;
  else
    return detail::host_round<T>((math::abs)(static_cast<detail::compute_t<T>>(x.value())));
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto(max)(A const& a, B const& b) {
  detail::check_operands<detail::host_problem<detail::Domain::ordered, A, B>(), A, B>();
  return detail::host_binary<detail::Domain::ordered, void, detail::HostMax>(a, b);
}
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto(min)(A const& a, B const& b) {
  detail::check_operands<detail::host_problem<detail::Domain::ordered, A, B>(), A, B>();
  return detail::host_binary<detail::Domain::ordered, void, detail::HostMin>(a, b);
}

/// Returns condition ? a : b.
template <class A, class B>
requires detail::HostOperands<A, B>
constexpr auto select(host<bool> condition, A const& a, B const& b) {
  using T = detail::host_element_t<A, B>;
  detail::check_operands<detail::host_problem<detail::Domain::any, A, B>(), A, B>();
  return host<T>(condition.value() ? detail::host_operand<T>(a) : detail::host_operand<T>(b));
}

/// Converts to another element, as cast of a tile does.
template <ElementType T, ElementType U>
constexpr host<T> cast(host<U> x) {
  static_assert(!std::is_same_v<T, bool> || std::is_same_v<U, bool>,
                "cast: the new element must not be bool; compare, for instance x != 0");
  if constexpr (std::is_same_v<T, U>)
    return x;
  else if constexpr (detail::NarrowFloat<T> || detail::NarrowFloat<U>) {
    if constexpr (is_integer(element_v<T>))
      return host<T>(math::float_to_int<T>(static_cast<float>(x.value())));
    else if constexpr (std::is_same_v<U, std::int64_t>)
      return host<T>(T::from_bits(static_cast<decltype(T().bits())>(math::narrow_bits(element_v<T>, x.value()))));
    else
      return host<T>(static_cast<T>(static_cast<double>(x.value())));
  } else if constexpr (is_integer(element_v<T>) && is_float(element_v<U>)) {
    return host<T>(math::float_to_int<T>(x.value()));
  } else {
    return host<T>(static_cast<T>(x.value()));
  }
}

}  // namespace tegula
