// Catches functions of std on traced values, and names those of kernels (mistakes.hpp says how).
#pragma once

#include "tegula/dsl/mistakes.hpp"

// The standard reserves overloads in std to itself; without these the compiler lists every function that does not fit.
namespace std {

template <class Dummy = void>
auto exp(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::exp takes numbers; of tiles and traced scalars write exp(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto exp2(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::exp2 takes numbers; of tiles and traced scalars write exp2(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto expm1(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::expm1 takes numbers; of tiles and traced scalars write expm1(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto log(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::log takes numbers; of tiles and traced scalars write log(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto log2(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::log2 takes numbers; of tiles and traced scalars write log2(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto log10(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::log10 takes numbers; of tiles and traced scalars write log10(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto log1p(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::log1p takes numbers; of tiles and traced scalars write log1p(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto sqrt(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::sqrt takes numbers; of tiles and traced scalars write sqrt(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto cbrt(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::cbrt takes numbers; of tiles and traced scalars write cbrt(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto sin(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::sin takes numbers; of tiles and traced scalars write sin(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto cos(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::cos takes numbers; of tiles and traced scalars write cos(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto asin(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::asin takes numbers; of tiles and traced scalars write asin(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto acos(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::acos takes numbers; of tiles and traced scalars write acos(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto atan(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::atan takes numbers; of tiles and traced scalars write atan(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto sinh(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::sinh takes numbers; of tiles and traced scalars write sinh(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto cosh(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::cosh takes numbers; of tiles and traced scalars write cosh(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto tanh(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::tanh takes numbers; of tiles and traced scalars write tanh(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto erf(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::erf takes numbers; of tiles and traced scalars write erf(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto floor(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::floor takes numbers; of tiles and traced scalars write floor(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto ceil(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::ceil takes numbers; of tiles and traced scalars write ceil(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto trunc(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::trunc takes numbers; of tiles and traced scalars write trunc(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto round(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::round takes numbers; of tiles and traced scalars write round(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto(abs)(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::abs takes numbers; of tiles and traced scalars write abs(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fabs(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fabs takes numbers; of tiles and traced scalars write abs(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto rint(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::rint takes numbers; of tiles and traced scalars write round(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto nearbyint(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::nearbyint takes numbers; of tiles and traced scalars write round(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto tan(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::tan takes numbers; of tiles and traced scalars write sin(x) / cos(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto erfc(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::erfc takes numbers; of tiles and traced scalars write 1 - erf(x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto isnan(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::isnan takes numbers; of tiles and traced scalars write x != x");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto isinf(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::isinf takes numbers; of tiles and traced scalars write abs(x) == inf");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto isfinite(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::isfinite takes numbers; of tiles and traced scalars write abs(x) < inf");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto signbit(tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::signbit takes numbers; of tiles and traced scalars write x < 0");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto pow(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::pow takes numbers; of tiles and traced scalars write pow(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto pow(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::pow takes numbers; of tiles and traced scalars write pow(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmod(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fmod takes numbers; of tiles and traced scalars write fmod(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmod(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fmod takes numbers; of tiles and traced scalars write fmod(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto atan2(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::atan2 takes numbers; of tiles and traced scalars write atan2(y, x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto atan2(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::atan2 takes numbers; of tiles and traced scalars write atan2(y, x)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmax(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fmax takes numbers; of tiles and traced scalars write max(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmax(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fmax takes numbers; of tiles and traced scalars write max(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmin(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fmin takes numbers; of tiles and traced scalars write min(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fmin(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fmin takes numbers; of tiles and traced scalars write min(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto hypot(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::hypot takes numbers; of tiles and traced scalars write sqrt(a * a + b * b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto hypot(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::hypot takes numbers; of tiles and traced scalars write sqrt(a * a + b * b)");
  return tegula::detail::Refused();
}

template <class Dummy = void>
auto(max)(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::max takes numbers; of tiles write max(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto(max)(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::max takes numbers; of tiles write max(a, b)");
  return tegula::detail::Refused();
}
template <class T>
tegula::scalar<T>(max)(tegula::scalar<T> const& a, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<T>, "std::max takes numbers; of traced scalars write max(a, b)");
  return a;
}
template <class T>
tegula::scalar<T>(max)(tegula::detail::PlainOperand, tegula::scalar<T> const& a) {
  static_assert(tegula::detail::never<T>, "std::max takes numbers; of traced scalars write max(a, b)");
  return a;
}
template <class Dummy = void>
auto(min)(tegula::detail::TracedOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::min takes numbers; of tiles write min(a, b)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto(min)(tegula::detail::PlainOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::min takes numbers; of tiles write min(a, b)");
  return tegula::detail::Refused();
}
template <class T>
tegula::scalar<T>(min)(tegula::scalar<T> const& a, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<T>, "std::min takes numbers; of traced scalars write min(a, b)");
  return a;
}
template <class T>
tegula::scalar<T>(min)(tegula::detail::PlainOperand, tegula::scalar<T> const& a) {
  static_assert(tegula::detail::never<T>, "std::min takes numbers; of traced scalars write min(a, b)");
  return a;
}

template <tegula::detail::Traced T>
constexpr T(max)(std::initializer_list<T> list) {
  static_assert(tegula::detail::never<T>, "std::max takes numbers; of tiles and traced scalars write max(a, b)");
  return *list.begin();
}
template <tegula::detail::Traced T>
constexpr T(min)(std::initializer_list<T> list) {
  static_assert(tegula::detail::never<T>, "std::min takes numbers; of tiles and traced scalars write min(a, b)");
  return *list.begin();
}

template <class Dummy = void>
auto clamp(tegula::detail::TracedOperand, tegula::detail::AnyOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::clamp takes numbers; of tiles and traced scalars write min(max(x, low), high)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto clamp(tegula::detail::PlainOperand, tegula::detail::AnyOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::clamp takes numbers; of tiles and traced scalars write min(max(x, low), high)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto clamp(tegula::detail::PlainOperand, tegula::detail::TracedOperand, tegula::detail::PlainOperand) {
  static_assert(tegula::detail::never<Dummy>,
                "std::clamp takes numbers; of tiles and traced scalars write min(max(x, low), high)");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fma(tegula::detail::TracedOperand, tegula::detail::AnyOperand, tegula::detail::AnyOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fma takes numbers; of tiles and traced scalars write a * b + c");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fma(tegula::detail::PlainOperand, tegula::detail::AnyOperand, tegula::detail::TracedOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fma takes numbers; of tiles and traced scalars write a * b + c");
  return tegula::detail::Refused();
}
template <class Dummy = void>
auto fma(tegula::detail::PlainOperand, tegula::detail::TracedOperand, tegula::detail::PlainOperand) {
  static_assert(tegula::detail::never<Dummy>, "std::fma takes numbers; of tiles and traced scalars write a * b + c");
  return tegula::detail::Refused();
}

}  // namespace std
