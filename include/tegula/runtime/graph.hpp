// Joins launches to one that replays them.
#pragma once

#include <span>

#include "tegula/runtime/device.hpp"
#include "tegula/runtime/prepared.hpp"

namespace tegula {

/// Returns one launch that runs prepared launches of a device in their order. On a CUDA device it is a CUDA graph,
/// captured here: a replay is one call of the driver. On the host, and where launches go to a simulator, each runs by
/// itself. A launch may be a graph too; its launches join the graph that is captured. Throws DriverError if the driver
/// refuses.
[[nodiscard]] prepared graph(device where, std::span<prepared const> launches);

}  // namespace tegula
