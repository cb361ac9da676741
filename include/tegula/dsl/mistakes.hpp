// Catches calls of kernels' functions with other arguments than they take, for one sentence in place of a list of all
// functions of that name. Everything here is worse than any other candidate, since each argument needs a user-defined
// conversion: no call that has a meaning gets here. std_mistakes.hpp does the same for functions of std.
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

/// Stands for the result, so that one mistake causes one error.
using Refused = Invalid<float, Shape<1>>;

#define TEGULA_TWO_VALUES                                                                                        \
  "the arguments of max and min must be two values, one of them a tile or a traced scalar, or a tile and maybe " \
  "axes: max(a, b), max(x, axis<1>), max(x)"

#define TEGULA_WITHOUT_AXES                                                                                    \
  "the arguments of a reduction must be a tile and the axes that it reduces, and keeps with extent 1: sum(x, " \
  "axis<0>), sum(x, axis<0, 1>); sum(x) returns a scalar of all elements"

#define TEGULA_SELECT                                                                                       \
  "select(condition, a, b): the condition must be a mask or a traced bool, and one of a and b a tile or a " \
  "traced scalar; full(shape<...>, x) makes a tile of a number"

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
  static_assert(detail::never<Dummy>, "the arguments of pow must be two values: pow(a, b)");
  return detail::Refused();
}
template <class Dummy = void>
auto fmod(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "the arguments of fmod must be two values: fmod(a, b)");
  return detail::Refused();
}
template <class Dummy = void>
auto atan2(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "the arguments of atan2 must be two values: atan2(a, b)");
  return detail::Refused();
}
template <class Dummy = void>
auto exp(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of exp must be one value: exp(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto exp2(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of exp2 must be one value: exp2(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto expm1(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of expm1 must be one value: expm1(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto log(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of log must be one value: log(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto log2(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of log2 must be one value: log2(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto log10(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of log10 must be one value: log10(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto log1p(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of log1p must be one value: log1p(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto sqrt(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of sqrt must be one value: sqrt(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto rsqrt(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of rsqrt must be one value: rsqrt(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto cbrt(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of cbrt must be one value: cbrt(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto sin(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of sin must be one value: sin(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto cos(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of cos must be one value: cos(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto asin(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of asin must be one value: asin(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto acos(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of acos must be one value: acos(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto atan(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of atan must be one value: atan(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto sinh(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of sinh must be one value: sinh(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto cosh(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of cosh must be one value: cosh(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto tanh(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of tanh must be one value: tanh(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto erf(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of erf must be one value: erf(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto sigmoid(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of sigmoid must be one value: sigmoid(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto floor(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of floor must be one value: floor(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto ceil(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of ceil must be one value: ceil(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto trunc(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of trunc must be one value: trunc(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto round(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of round must be one value: round(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto(abs)(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the argument of abs must be one value: abs(x)");
  return detail::Refused();
}
template <class Dummy = void>
auto cumsum(detail::TracedOperand) {
  static_assert(detail::never<Dummy>,
                "the arguments of cumsum must be a tile and the axis along which it goes: cumsum(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto cumsum(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>,
                "the arguments of cumsum must be a tile and the axis along which it goes: cumsum(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto cumprod(detail::TracedOperand) {
  static_assert(detail::never<Dummy>,
                "the arguments of cumprod must be a tile and the axis along which it goes: cumprod(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto cumprod(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>,
                "the arguments of cumprod must be a tile and the axis along which it goes: cumprod(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto dot(detail::TracedOperand) {
  static_assert(detail::never<Dummy>,
                "the arguments of dot must be two tiles, and maybe the sum so far: dot(a, b), dot(a, b, sum)");
  return detail::Refused();
}
template <class Dummy = void>
auto dot(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>,
                "the arguments of dot must be two tiles, and maybe the sum so far: dot(a, b), dot(a, b, sum)");
  return detail::Refused();
}
template <class Dummy = void>
auto dot(detail::PlainOperand, detail::TracedOperand) {
  static_assert(detail::never<Dummy>,
                "the arguments of dot must be two tiles, and maybe the sum so far: dot(a, b), dot(a, b, sum)");
  return detail::Refused();
}
template <class Dummy = void>
auto expand_dims(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "the arguments of expand_dims must be a tile and axes: expand_dims(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto expand_dims(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the arguments of expand_dims must be a tile and axes: expand_dims(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto squeeze(detail::TracedOperand) {
  static_assert(detail::never<Dummy>, "the arguments of squeeze must be a tile and axes: squeeze(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto squeeze(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the arguments of squeeze must be a tile and axes: squeeze(x, axis<0>)");
  return detail::Refused();
}
template <class Dummy = void>
auto reshape(detail::TracedOperand) {
  static_assert(detail::never<Dummy>,
                "the arguments of reshape must be a tile and the new shape: reshape(x, shape<...>)");
  return detail::Refused();
}
template <class Dummy = void>
auto reshape(detail::TracedOperand, detail::AnyOperand) {
  static_assert(detail::never<Dummy>,
                "the arguments of reshape must be a tile and the new shape: reshape(x, shape<...>)");
  return detail::Refused();
}
template <class Dummy = void>
auto trans(detail::TracedOperand, detail::AnyOperand) {
  static_assert(
      detail::never<Dummy>,
      "the arguments of trans must be a tile, and maybe the order of its axes: trans(x), trans(x, axis<1, 0>)");
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
                "cast<T>(x): x must be a tile or a traced scalar; a number is converted by static_cast<T>(x)");
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
                "the arguments of full must be a shape and a number or a traced scalar: full(shape<...>, x), "
                "full<T>(shape<...>, x)");
  return detail::Refused();
}
template <class Dummy = void>
auto iota(detail::AnyOperand) {
  static_assert(detail::never<Dummy>, "the arguments of iota must be a shape and an axis: iota(shape<64, 1>, axis<0>)");
  return detail::Refused();
}

#undef TEGULA_TWO_VALUES
#undef TEGULA_WITHOUT_AXES
#undef TEGULA_SELECT

}  // namespace tegula
