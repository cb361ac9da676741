// Describes each tensor map that a kernel takes, as far as the compiler knows it. The runtime adds address, extents and
// strides at the launch (lib/runtime/cuda/tensor_map.hpp).
#pragma once

#include <cstdint>

#include "tegula/support/extents.hpp"

namespace tegula {

/// Names how TMA arranges the rows of a box in shared memory: 16-byte chunks exchanged within spans of so many bytes.
enum class SwizzleMode : std::uint8_t { none, b32, b64, b128 };

/// Gives the bytes of a span; 0 for none.
constexpr int swizzle_bytes(SwizzleMode mode) { return mode == SwizzleMode::none ? 0 : 16 << static_cast<int>(mode); }

/// Names the smallest unit in which TMA has the L2 cache fetch; performance only.
enum class L2Promotion : std::uint8_t { none, b64, b128, b256 };

/// Describes one tensor map: a box of a tensor parameter.
struct TensorMapInfo {
  std::int32_t parameter = 0;  ///< number of the tensor parameter
  Extents box;  ///< elements along each axis of the tensor, outermost first; 1 where a copy takes one element
  SwizzleMode swizzle = SwizzleMode::none;
  L2Promotion l2_promotion = L2Promotion::b128;
  bool nan_fill = false;  ///< floats: elements that a load finds outside the tensor are NaN, not 0
  friend bool operator==(TensorMapInfo const&, TensorMapInfo const&) = default;
};

}  // namespace tegula
