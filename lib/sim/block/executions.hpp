// How often warps execute ops, for tests that must know what a run exercised.
#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "ir/op.hpp"

namespace tegula::sim::block {

/// By op and the warp's number in the machine.
using Executions = std::map<std::pair<ir::Op const*, int>, std::uint32_t>;

}  // namespace tegula::sim::block
