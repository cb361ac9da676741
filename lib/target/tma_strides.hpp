// Checks which memory the TMA engine can step through: one answer for the facts of arguments, tensor maps and the
// simulator.
#pragma once

#include <cstdint>
#include <optional>

namespace tegula::target {

/// Names the first fact that prevents a tensor map: an extent, the address or a stride.
struct TmaObstacle {
  enum class Kind : std::uint8_t {
    extent,     ///< more elements along an axis than coordinates can name
    address,    ///< not a multiple of 16 bytes
    backwards,  ///< a negative stride
    far,        ///< a stride of 2^40 bytes or more
    stride,     ///< not a multiple of 16 bytes
  };
  Kind kind;
  int axis = -1;  ///< of the extent or stride
};

/// Finds it for a tensor with elements; strides count elements. The last axis has its own rule: its stride is 1.
/// Strides of axes of one element are never used. A stride of 0 repeats, and axes may overlap.
std::optional<TmaObstacle> tma_obstacle(void const* address, int element_bytes, int rank, std::int64_t const* extents,
                                        std::int64_t const* strides);

}  // namespace tegula::target
