// Compares two executors' results, for differential tests.
#pragma once

#include <string>

#include "sim/interpreter.hpp"

namespace tegula::sim {

/// Bounds how far two floats may be apart: |found - expected| <= absolute + ulps units in the last place of the
/// greater. Zero for both means equal bits, but for NaNs, which all agree, and zeros of either sign where min and max
/// may choose.
struct Tolerance {
  double ulps = 0;
  double absolute = 0;
  bool nonfinite = false;  ///< anything may stand where a NaN or an infinity is expected
};
inline constexpr Tolerance bitwise{};

/// Describes the differences of two tensors of one element and equal extents.
struct Difference {
  std::int64_t elements = 0;  ///< how many are too far apart
  double worst_ulps = 0;      ///< over all elements that are finite in both
  std::string text;           ///< the first one: "element [3, 5] is 1.5 : f32 but should be 1.25 : f32"; empty: none
  [[nodiscard]] bool none() const { return elements == 0; }
};

/// Throws UserError when elements or extents differ. Strides may differ.
Difference compare(Tensor const& found, Tensor const& expected, Tolerance tolerance = bitwise);

/// Copies the bytes of every element of a view, in row-major order; and back.
std::vector<std::byte> contents(Tensor const& tensor);
void set_contents(Tensor const& tensor, std::vector<std::byte> const& bytes);

}  // namespace tegula::sim
