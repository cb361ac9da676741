// Catches calls that C++ would answer with a list of all functions of that name, for one sentence: functions of std on
// traced values, and functions of kernels with other arguments than they take. Everything here is worse than any other
// candidate, since each argument needs a user-defined conversion: no call that has a meaning gets here.
#pragma once

#include <initializer_list>

#include "tegula/dsl/math.hpp"

namespace tegula {
namespace detail {

/// Converts from a traced value.
struct TracedOperand {
  template <Traced X>
  TracedOperand(X const&) {}
};
/// Converts from anything.
struct AnyOperand {
  template <class X>
  AnyOperand(X const&) {}
};
/// Converts from anything but a traced value.
struct PlainOperand {
  template <class X>
  requires(!Traced<X>) PlainOperand(X const&) {}
};

/// Stands for the result, so that one mistake gives one error.
using Refused = Invalid<float, Shape<1>>;

#define TEGULA_TWO_VALUES                                                                                            \
  "max and min take two values, one of them a tile or a traced scalar, or a tile and maybe axes: max(a, b), max(x, " \
  "axis<1>), max(x)"

#define TEGULA_WITHOUT_AXES                                                                                       \
  "a reduction takes a tile and the axes that it reduces, and keeps them with extent 1: sum(x, axis<0>), sum(x, " \
  "axis<0, 1>); sum(x) gives a scalar of all elements"

#define TEGULA_SELECT                                                                                            \
  "select(condition, a, b): the condition is a mask or a traced bool, and one of a and b is a tile or a traced " \
  "scalar; "                                                                                                     \
  "full(shape<...>, x) makes a tile of a number"

}  // namespace detail

template <class Dummy = void>
auto(max)(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, TEGULA_TWO_VALUES);
  return detail::Refused();
}
template <class Dummy = void>
auto(max)(detail::TracedOperand, detail::AnyOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_TWO_VALUES);
  return detail::Refused();
}
template <class Dummy = void>
auto(max)(detail::PlainOperand, detail::AnyOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_TWO_VALUES);
  return detail::Refused();
}
template <class Dummy = void>
auto(min)(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, TEGULA_TWO_VALUES);
  return detail::Refused();
}
template <class Dummy = void>
auto(min)(detail::TracedOperand, detail::AnyOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_TWO_VALUES);
  return detail::Refused();
}
template <class Dummy = void>
auto(min)(detail::PlainOperand, detail::AnyOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_TWO_VALUES);
  return detail::Refused();
}
template <class Dummy = void>
auto sum(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto sum(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto prod(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto prod(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto any(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto any(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto all(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto all(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto argmax(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto argmax(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto argmin(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto argmin(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_WITHOUT_AXES);
  return detail::Refused();
}
template <class Dummy = void>
auto select(detail::AnyOperand, detail::AnyOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_SELECT);
  return detail::Refused();
}
template <class Dummy = void>
auto select(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, TEGULA_SELECT);
  return detail::Refused();
}
template <class Dummy = void>
auto pow(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "pow takes two values: pow(a, b)");
  return detail::Refused();
}
template <class Dummy = void>
auto fmod(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "fmod takes two values: fmod(a, b)");
  return detail::Refused();
}
template <class Dummy = void>
auto atan2(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "atan2 takes two values: atan2(a, b)");
  return detail::Refused();
}
template <class Dummy = void>
auto exp(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "exp takes one value: exp(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto exp2(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "exp2 takes one value: exp2(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto expm1(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "expm1 takes one value: expm1(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto log(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "log takes one value: log(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto log2(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "log2 takes one value: log2(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto log10(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "log10 takes one value: log10(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto log1p(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "log1p takes one value: log1p(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto sqrt(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "sqrt takes one value: sqrt(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto rsqrt(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "rsqrt takes one value: rsqrt(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto cbrt(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "cbrt takes one value: cbrt(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto sin(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "sin takes one value: sin(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto cos(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "cos takes one value: cos(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto asin(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "asin takes one value: asin(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto acos(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "acos takes one value: acos(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto atan(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "atan takes one value: atan(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto sinh(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "sinh takes one value: sinh(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto cosh(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "cosh takes one value: cosh(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto tanh(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "tanh takes one value: tanh(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto erf(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "erf takes one value: erf(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto sigmoid(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "sigmoid takes one value: sigmoid(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto floor(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "floor takes one value: floor(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto ceil(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "ceil takes one value: ceil(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto trunc(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "trunc takes one value: trunc(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto round(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "round takes one value: round(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto(abs)(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "abs takes one value: abs(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto cumsum(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "cumsum takes a tile and the axis along which it goes: cumsum(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto cumsum(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "cumsum takes a tile and the axis along which it goes: cumsum(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto cumprod(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "cumprod takes a tile and the axis along which it goes: cumprod(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto cumprod(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "cumprod takes a tile and the axis along which it goes: cumprod(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto dot(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "dot takes two tiles, and maybe the sum so far: dot(a, b), dot(a, b, sum)");
  return detail::Refused();
}
template <class Dummy = void>
auto dot(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "dot takes two tiles, and maybe the sum so far: dot(a, b), dot(a, b, sum)");
  return detail::Refused();
}
template <class Dummy = void>
auto dot(detail::PlainOperand, detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "dot takes two tiles, and maybe the sum so far: dot(a, b), dot(a, b, sum)");
  return detail::Refused();
}
template <class Dummy = void>
auto expand_dims(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "expand_dims takes a tile and axes: expand_dims(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto expand_dims(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "expand_dims takes a tile and axes: expand_dims(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto squeeze(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "squeeze takes a tile and axes: squeeze(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto squeeze(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "squeeze takes a tile and axes: squeeze(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto reshape(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "reshape takes a tile and the new shape: reshape(x, shape<...>)");
  return detail::Refused();
}
template <class Dummy = void>
auto reshape(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "reshape takes a tile and the new shape: reshape(x, shape<...>)");
  return detail::Refused();
}
template <class Dummy = void>
auto trans(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>,
                "trans takes a tile, and maybe the order of its axes: trans(x), trans(x, axis<1, 0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto cast(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "cast<T>(x): T must be an element, as in cast<float>(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto cast(detail::PlainOperand) {
  static_assert(detail::never<Dummy>,
                "cast is for tiles and traced scalars; a number is converted by static_cast<T>(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto zeros(detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "zeros<T>(shape<...>): T must be an element, as in zeros<float>(shape<64>)");
  return detail::Refused();
}
template <class Dummy = void>
auto full(detail::AnyOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>,
                "full takes a shape and a number or a traced scalar: full(shape<...>, x), full<T>(shape<...>, x)");
  return detail::Refused();
}
template <class Dummy = void>
auto iota(detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "iota takes a shape and an axis: iota(shape<64, 1>, axis<0>)");
  return detail::Refused();
}

#undef TEGULA_TWO_VALUES
#undef TEGULA_WITHOUT_AXES
#undef TEGULA_SELECT

}  // namespace tegula

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
