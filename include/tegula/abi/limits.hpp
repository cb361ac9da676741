// Names the limits that every launch checks and that passes count on.
#pragma once

#include <cstdint>

namespace tegula {

/// Bounds the extents of a tensor argument, in elements.
inline constexpr std::int64_t max_tensor_extent = std::int64_t{1} << 47;

/// Bounds the blocks of a grid, all axes together, on every executor. It is CUDA's limit for one axis.
inline constexpr std::int64_t max_grid_blocks = (std::int64_t{1} << 31) - 1;

}  // namespace tegula
