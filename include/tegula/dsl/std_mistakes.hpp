// Catches functions of std on traced values, and names those of kernels (mistakes.hpp says how).
#pragma once

#include "tegula/dsl/mistakes.hpp"

// The standard reserves overloads in std to itself; without these the compiler lists every function that does not fit.
namespace std {

template <class Dummy = void>
auto exp(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::exp must be numbers; of tiles and traced scalars write exp(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto exp2(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::exp2 must be numbers; of tiles and traced scalars write exp2(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto expm1(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::expm1 must be numbers; of tiles and traced scalars write expm1(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto log(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::log must be numbers; of tiles and traced scalars write log(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto log2(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::log2 must be numbers; of tiles and traced scalars write log2(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto log10(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::log10 must be numbers; of tiles and traced scalars write log10(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto log1p(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::log1p must be numbers; of tiles and traced scalars write log1p(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto sqrt(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::sqrt must be numbers; of tiles and traced scalars write sqrt(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto cbrt(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::cbrt must be numbers; of tiles and traced scalars write cbrt(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto sin(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::sin must be numbers; of tiles and traced scalars write sin(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto cos(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::cos must be numbers; of tiles and traced scalars write cos(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto asin(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::asin must be numbers; of tiles and traced scalars write asin(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto acos(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::acos must be numbers; of tiles and traced scalars write acos(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto atan(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::atan must be numbers; of tiles and traced scalars write atan(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto sinh(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::sinh must be numbers; of tiles and traced scalars write sinh(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto cosh(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::cosh must be numbers; of tiles and traced scalars write cosh(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto tanh(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::tanh must be numbers; of tiles and traced scalars write tanh(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto erf(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::erf must be numbers; of tiles and traced scalars write erf(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto floor(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::floor must be numbers; of tiles and traced scalars write floor(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto ceil(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::ceil must be numbers; of tiles and traced scalars write ceil(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto trunc(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::trunc must be numbers; of tiles and traced scalars write trunc(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto round(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::round must be numbers; of tiles and traced scalars write round(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto(abs)(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::abs must be numbers; of tiles and traced scalars write abs(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fabs(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fabs must be numbers; of tiles and traced scalars write abs(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto rint(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::rint must be numbers; of tiles and traced scalars write round(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto nearbyint(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::nearbyint must be numbers; of tiles and traced scalars write round(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto tan(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::tan must be numbers; of tiles and traced scalars write sin(x) / cos(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto erfc(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::erfc must be numbers; of tiles and traced scalars write 1 - erf(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto isnan(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::isnan must be numbers; of tiles and traced scalars write x != x");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto isinf(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::isinf must be numbers; of tiles and traced scalars write abs(x) == inf");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto isfinite(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::isfinite must be numbers; of tiles and traced scalars write abs(x) < inf");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto signbit(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::signbit must be numbers; of tiles and traced scalars write x < 0");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto pow(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::pow must be numbers; of tiles and traced scalars write pow(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto pow(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::pow must be numbers; of tiles and traced scalars write pow(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmod(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fmod must be numbers; of tiles and traced scalars write fmod(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmod(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fmod must be numbers; of tiles and traced scalars write fmod(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto atan2(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::atan2 must be numbers; of tiles and traced scalars write atan2(y, x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto atan2(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::atan2 must be numbers; of tiles and traced scalars write atan2(y, x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmax(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fmax must be numbers; of tiles and traced scalars write max(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmax(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fmax must be numbers; of tiles and traced scalars write max(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmin(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fmin must be numbers; of tiles and traced scalars write min(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmin(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fmin must be numbers; of tiles and traced scalars write min(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto hypot(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::hypot must be numbers; of tiles and traced scalars write sqrt(a * a + b * b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto hypot(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::hypot must be numbers; of tiles and traced scalars write sqrt(a * a + b * b)");
  return tegula::detail::Refused();
}

template <class Dummy = void>
auto(max)(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>, "the arguments of std::max must be numbers; of tiles write max(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto(max)(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "the arguments of std::max must be numbers; of tiles write max(a, b)");
  return tegula::detail::Refused();
}
template <class T>
tegula::scalar<T>(max)(tegula::scalar<T> const& a, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<T>,
                "the arguments of std::max must be numbers; of traced scalars write max(a, b)");
  return a;
}
template <class T>
tegula::scalar<T>(max)(tegula::detail::PlainOperand, tegula::scalar<T> const& a) {
  static_assert(tegula::detail::never<T>,
                "the arguments of std::max must be numbers; of traced scalars write max(a, b)");
  return a;
}
template <class Dummy = void>
auto(min)(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>, "the arguments of std::min must be numbers; of tiles write min(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto(min)(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "the arguments of std::min must be numbers; of tiles write min(a, b)");
  return tegula::detail::Refused();
}
template <class T>
tegula::scalar<T>(min)(tegula::scalar<T> const& a, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<T>,
                "the arguments of std::min must be numbers; of traced scalars write min(a, b)");
  return a;
}
template <class T>
tegula::scalar<T>(min)(tegula::detail::PlainOperand, tegula::scalar<T> const& a) {
  static_assert(tegula::detail::never<T>,
                "the arguments of std::min must be numbers; of traced scalars write min(a, b)");
  return a;
}

template <tegula::detail::Traced T>
constexpr T(max)(std::initializer_list<T> list) {
  static_assert(tegula::detail::never<T>,
                "the arguments of std::max must be numbers; of tiles and traced scalars write max(a, b)");
  return *list.begin();
}
template <tegula::detail::Traced T>
constexpr T(min)(std::initializer_list<T> list) {
  static_assert(tegula::detail::never<T>,
                "the arguments of std::min must be numbers; of tiles and traced scalars write min(a, b)");
  return *list.begin();
}

template <class Dummy = void>
auto clamp(tegula::detail::TracedOperand, tegula::detail::AnyOperand, tegula::detail::AnyOperand) {
  static_assert(
      tegula::detail::never<Dummy>,
      "the arguments of std::clamp must be numbers; of tiles and traced scalars write min(max(x, low), high)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto clamp(tegula::detail::PlainOperand, tegula::detail::AnyOperand, tegula::detail::TracedOperand) {
  static_assert(
      tegula::detail::never<Dummy>,
      "the arguments of std::clamp must be numbers; of tiles and traced scalars write min(max(x, low), high)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto clamp(tegula::detail::PlainOperand, tegula::detail::TracedOperand, tegula::detail::PlainOperand) {
  static_assert(
      tegula::detail::never<Dummy>,
      "the arguments of std::clamp must be numbers; of tiles and traced scalars write min(max(x, low), high)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fma(tegula::detail::TracedOperand, tegula::detail::AnyOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fma must be numbers; of tiles and traced scalars write a * b + c");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fma(tegula::detail::PlainOperand, tegula::detail::AnyOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fma must be numbers; of tiles and traced scalars write a * b + c");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fma(tegula::detail::PlainOperand, tegula::detail::TracedOperand, tegula::detail::PlainOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "the arguments of std::fma must be numbers; of tiles and traced scalars write a * b + c");
  return tegula::detail::Refused();
}

}  // namespace std
