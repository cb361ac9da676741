// Counts the registers that a thread's values take at once, before code generation.
#pragma once

#include "ir/op.hpp"

namespace tegula::analysis {

/// Counts the 32-bit registers of a value of this type in one thread; 16-bit elements are packed. Tiles need layouts.
int registers_of(ir::Type const& type);

/// True for an op that gives elements of its result one by one from those of its operands.
bool streams(ir::Op const& op);

/// Estimates the maximum of the registers of values alive between any two ops. Constants and values computed from
/// indices alone cost nothing. A broadcast tile costs as much as its operand. Every other value lives from its op to
/// its last use; if a loop uses it, to the loop's end. The assembler keeps temporaries besides, and may recompute.
int register_pressure(ir::Function const& function);

/// Estimates the registers of tiles alone, behind ops that take or give whole ones: accesses to memory, reductions,
/// exchanges. Between them a thread computes element by element.
int whole_tile_pressure(ir::Function const& function);

/// Counts only the registers of open products' accumulators, which cannot be recomputed or kept elsewhere.
int open_product_registers(ir::Function const& function);

}  // namespace tegula::analysis
