#include "target/tma_strides.hpp"

#include "tegula/target/tma_rules.hpp"

namespace tegula::target {

std::optional<TmaObstacle> tma_obstacle(void const* address, int element_bytes, int rank, std::int64_t const* extents,
                                        std::int64_t const* strides) {
  using Kind = TmaObstacle::Kind;
  for (int axis = 0; axis < rank; ++axis)
    if (extents[axis] > tma_rule::max_extent) return TmaObstacle{Kind::extent, axis};
  if (reinterpret_cast<std::uintptr_t>(address) % tma_rule::step_bytes != 0) return TmaObstacle{Kind::address};
  for (int axis = 0; axis + 1 < rank; ++axis) {
    if (extents[axis] <= 1) continue;
    if (strides[axis] < 0) return TmaObstacle{Kind::backwards, axis};
    if (strides[axis] >= tma_rule::stride_limit / element_bytes) return TmaObstacle{Kind::far, axis};
    if (strides[axis] * element_bytes % tma_rule::step_bytes != 0) return TmaObstacle{Kind::stride, axis};
  }
  return std::nullopt;
}

}  // namespace tegula::target
