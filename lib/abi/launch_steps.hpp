// Computes steps of launch programs.
#pragma once

#include <cstdint>

#include "tegula/abi/launch_op.hpp"

namespace tegula::abi {

/// Returns the value of a step that is not a leaf, from the values of its operands. `c`: of a select alone.
std::int64_t apply(LaunchOp op, std::int64_t a, std::int64_t b, std::int64_t c = 0);

}  // namespace tegula::abi
