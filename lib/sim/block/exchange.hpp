// Exchanges values between the warps of a CTA inside one op, through its scratch memory and the barrier of the CTA.
#pragma once

#include "sim/block/warp_program.hpp"

namespace tegula::sim::block {

/// Hands this warp's values to the others, in turns: write, barrier of the CTA, read. Progress::done: all values are in
/// Engine::exchange, those of each operand one after the other. Throws UserError inside warp_specialize, where that
/// barrier cannot be reached.
Progress exchange(WarpProgram& warp, ir::Op const& op, std::vector<Value> const& operands);
inline Progress exchange(WarpProgram& warp, ir::Op const& op, Value const& values) {
  return exchange(warp, op, std::vector{values});
}

}  // namespace tegula::sim::block
