// What the compiler says about each tensor map that a kernel takes; the runtime adds address, extents and strides at
// the launch (lib/runtime/cuda/tensor_map.hpp).
#pragma once

#include <cstdint>

#include "tegula/support/extents.hpp"

namespace tegula {

/// How TMA arranges the rows of a box in shared memory: 16-byte chunks exchanged within spans of so many bytes.
enum class SwizzleMode : std::uint8_t { none, b32, b64, b128 };

/// Bytes of a span; 0 for none.
constexpr int swizzle_bytes(SwizzleMode mode) { return mode == SwizzleMode::none ? 0 : 16 << static_cast<int>(mode); }

/// Least unit in which TMA has the L2 cache fetch; performance only.
enum class L2Promotion : std::uint8_t { none, b64, b128, b256 };

/// One tensor map: a box of a tensor parameter.
struct TensorMapInfo {
  std::int32_t parameter = 0;  ///< number of the tensor parameter
  Extents box;                 ///< elements along each axis of the tensor, outermost first; 1 where a copy takes one
  SwizzleMode swizzle = SwizzleMode::none;
  L2Promotion l2_promotion = L2Promotion::b128;
  bool nan_fill = false;  ///< floats: what a load finds outside the tensor is NaN, not 0
  friend bool operator==(TensorMapInfo const&, TensorMapInfo const&) = default;
};

}  // namespace tegula
