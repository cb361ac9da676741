// States the cost of ops in virtual time. A warp starts an op when its operands are ready; the result is ready later.
#pragma once

#include "ir/core/op.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::sim::block {

/// Describes the part of one warp in an op. Costs of barriers and of asynchronous operations belong to the machine.
struct OpCost {
  int instructions = 0;     ///< that the warp starts
  int latency = 0;          ///< from the last one to the use of the result
  double shared_bytes = 0;  ///< that pass the port of shared memory
  double global_bytes = 0;  ///< that pass the port of L2
  double product = 0;       ///< clocks of the tensor core of the warp's quarter
};

/// Returns the cost of an op in a kernel whose CTAs have `warps` warps.
OpCost cost_of(ir::Op const& op, int warps, TargetInfo const& target);

}  // namespace tegula::sim::block
