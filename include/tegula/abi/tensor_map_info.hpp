// Describes each tensor map that a kernel takes, as far as the compiler knows it. The runtime adds address, extents and
// strides at the launch (lib/runtime/cuda/tensor_map.hpp).
#pragma once

#include <cstdint>

#include "tegula/support/extents.hpp"

namespace tegula {

/// Names how TMA arranges the rows of a box in shared memory. Chunks of 16 bytes change places within spans of so many
/// bytes, as in the layout `swizzled(32 | 64 | 128)`. Without it the layout is swizzled(16) or, for a box as wide as
/// the view, dense.
enum class Swizzle : std::uint8_t { none, b32, b64, b128 };

/// Returns the bytes of a span; 0 for none.
constexpr int swizzle_bytes(Swizzle swizzle) { return swizzle == Swizzle::none ? 0 : 16 << static_cast<int>(swizzle); }

/// Returns the swizzle of a span of so many bytes; none for any other number than 32, 64 and 128.
constexpr Swizzle swizzle_of(int span) {
  for (Swizzle const swizzle : {Swizzle::b32, Swizzle::b64, Swizzle::b128})
    if (swizzle_bytes(swizzle) == span) return swizzle;
  return Swizzle::none;
}

/// Names the smallest unit in which TMA has the L2 cache fetch; performance only.
enum class L2Promotion : std::uint8_t { none, b64, b128, b256 };

/// Describes one tensor map: a box of a tensor parameter.
struct TensorMapInfo {
  std::int32_t parameter = 0;  ///< number of the tensor parameter
  Extents axes;                ///< axes of the parameter in the map's order, the last one last; empty: as they are
  Extents box;  ///< elements along each axis of the map, outermost first; 1 where a copy takes one element
  Swizzle swizzle = Swizzle::none;
  L2Promotion l2_promotion = L2Promotion::b128;
  bool nan_fill = false;  ///< floats: elements that a load finds outside the tensor are NaN, not 0
  friend bool operator==(TensorMapInfo const&, TensorMapInfo const&) = default;
};

}  // namespace tegula
