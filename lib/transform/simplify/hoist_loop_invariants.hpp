// Hoists loop invariants.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves ops that no iteration changes before the loop. Scalars and constants always move. Tiles move if they are
/// costly: a load that no store of the loop can change, a product, a reduction, arithmetic. The cheap tiles they are
/// made of move with them. Tiles that are only spread out (splat, iota, broadcast ...) or widened by a cast stay at
/// their use. A tile that lives through a loop takes registers or memory. Loops without iterations are safe: no moved
/// op has effects. Needs: nothing.  Leaves: no such op in any loop.
///
/// Order: free after eliminate-common-subexpressions, which merges equal ops in a loop and before it.
PassResult hoist_loop_invariants(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
