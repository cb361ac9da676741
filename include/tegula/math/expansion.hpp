// Holds steps that the expansions of several functions share.
#pragma once

#include "tegula/math/scalar.hpp"

namespace tegula::math::detail {

/// Computes c[0] + x * (c[1] + x * (...)): one product and sum per coefficient.
template <class V>
constexpr V polynomial(V x, double const* coefficients, int count) {
  V result = like(x, coefficients[count - 1]);
  for (int i = count - 2; i >= 0; --i) result = multiply_add(result, x, like(x, coefficients[i]));
  return result;
}

/// Returns x without its sign.
template <class V>
constexpr V magnitude_f32(V x) {
  auto const bits = to_bits(x);
  return from_bits(bits & like(bits, 0x7FFFFFFF));
}
template <class V>
constexpr V magnitude_f64(V x) {
  auto const bits = to_bits(x);
  return from_bits(bits & like(bits, 0x7FFFFFFFFFFFFFFF));
}

}  // namespace tegula::math::detail
