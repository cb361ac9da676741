// Collects the memory effects of ops, seen through nested blocks and calls.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::analysis {

/// Effects of an op with all inside it and, for calls, of the callee.
struct EffectSummary {
  bool reads = false;             ///< memory
  bool writes = false;            ///< memory
  bool reports = false;           ///< asserts or prints
  bool launch_statement = false;  ///< a grid or require: kept whatever its uses
};

EffectSummary effects_of(ir::Op const& op);

/// True when an op without used results may be dropped: it does not write, report or end anything and does not belong
/// to a launch.
bool removable(ir::Op const& op);

/// Returns the order of an atomic; relaxed for every other op.
ir::MemoryOrder memory_order(ir::Op const& op);

/// Tells whether two ops may change places: neither calls a function or orders other accesses, and neither writes
/// global memory that the other one accesses. Their operands are not looked at. Tensors that a kernel writes overlap no
/// other.
bool may_change_places(ir::Op const& a, ir::Op const& b);
/// Tells whether a load or a store may come just ahead of a later op: it may change places with all ops between them in
/// its block, and with those inside these. It may if it comes after that op already.
bool may_wait_for(ir::Op const& access, ir::Op const& later);

/// True for an op that must run once for each tile, not in each CTA that works on it: a store, an assert, a print.
inline bool runs_once(ir::Op const& op) {
  ir::Effects const& effects = op.info().effects;
  return effects.writes(ir::Space::global) || effects.writes(ir::Space::console);
}

/// True for an op whose only effect is an ordinary read of global memory: a load or a gather.
bool is_global_read(ir::Op const& op);
/// True for such a read whose value no store of this kernel can change. Its tensor is an in parameter of a kernel,
/// which never aliases a written one.
bool reads_constant_memory(ir::Op const& read);
/// True for an op that returns the same results wherever it stands: pure, or a read of constant memory.
inline bool is_movable(ir::Op const& op) { return op.pure() || reads_constant_memory(op); }

}  // namespace tegula::analysis
