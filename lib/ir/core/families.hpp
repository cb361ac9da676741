// Names the groups of ops that several passes ask for. Families are statements of the op structs; the groups here
// follow from them, from effects and from names of operands.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::ir {

/// True for an op that runs its block again and again.
inline bool is_loop(Op const& op) { return op.is<ForOp>() || op.is<RepeatOp>(); }
/// True for control flow whose results are those that its blocks yield: loops and branches.
inline bool is_flow(Op const& op) { return is_loop(op) || op.is<IfOp>(); }

/// True for an op whose elements each thread makes without data from others: constants, coordinates and splats.
inline bool makes_elements(Op const& op) { return op.is(Family::constant) || op.is<SplatOp>(); }

/// True for a product on tensor cores.
inline bool is_tensor_core_product(Op const& op) { return op.is(Family::product) && op.info().is_block_op(); }

/// True for an op that accesses elements of a tensor at indices which tiles hold.
inline bool has_indices(Op const& op) { return op.info().names("indices"); }

/// True for an op that divides or returns the rest: of integers it takes many steps, and 0 is not a divisor.
inline bool divides(Op const& op) { return op.is<DivOp>() || op.is<RemOp>() || op.is<CeilDivOp>(); }

/// True for an op that works on a log of events (ProfileBeginOp and its like), not for a record.
inline bool is_log_op(Op const& op) { return op.info().effects.writes(Space::log) && !op.is<RecordOp>(); }

/// True for an asynchronous copy from global to shared memory, or back.
inline bool copies_in(Op const& op) {
  return op.info().effects.reads(Space::global) && op.info().effects.writes(Space::shared);
}
inline bool copies_out(Op const& op) {
  return op.info().effects.reads(Space::shared) && op.info().effects.writes(Space::global);
}

}  // namespace tegula::ir
