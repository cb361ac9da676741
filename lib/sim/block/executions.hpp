// Counts how often warps execute ops, for tests that must know the ops that a run exercised.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "ir/core/op.hpp"

namespace tegula::sim::block {

/// Counts executions by op and by the warp's number in the machine.
using Executions = std::map<std::pair<ir::Op const*, int>, std::uint32_t>;

}  // namespace tegula::sim::block
