// Counts the registers that a thread's values take at once, before code generation.
#pragma once

#include "ir/op.hpp"

namespace tegula::analysis {

/// 32-bit registers that a value of this type takes in one thread; 16-bit elements are packed. Tiles need layouts.
int registers_of(ir::Type const& type);

/// The most registers of values alive between any two ops. Constants and what is computed from indices alone cost
/// nothing, broadcast tiles what they were before; every other value lives from its op to its last use, in a loop that
/// uses it to the loop's end. An estimate: the assembler keeps temporaries besides, and may recompute.
int register_pressure(ir::Function const& function);

/// Of accumulators of open products alone, which nothing can compute again or keep elsewhere.
int open_product_registers(ir::Function const& function);

}  // namespace tegula::analysis
