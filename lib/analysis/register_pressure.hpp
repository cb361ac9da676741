// Counts the registers that a thread's values take at once, before code generation.
#pragma once

#include <functional>

#include "ir/memory/registers.hpp"

namespace tegula::analysis {

using ir::registers_of;

/// Registers of addresses, predicates and temporaries besides the tiles', in kernels that memory limits.
inline constexpr int other_registers = 16;

/// True for an op that computes elements of its result one by one from those of its operands.
bool streams(ir::Op const& op);

/// Estimates the maximum of the registers of values alive between any two ops. Constants and values computed from
/// indices alone cost nothing. A broadcast tile costs as much as its operand. Every other value lives from its op to
/// its last use; if a loop uses it, to the loop's end. The assembler keeps temporaries besides, and may recompute.
int register_pressure(ir::Function const& function);

/// Counts the same of one block, to whose end its arguments live.
int register_pressure(ir::Block& block);

/// Counts the same by the registers that `cost` returns for a value: ahead of layouts.
int register_pressure(ir::Function const& function, std::function<int(ir::Value const&)> const& cost);

/// Estimates the registers of all values after ops that take or return whole tiles, where the assembler cannot go
/// element by element. Leaves out ops that only rename registers, exchange them one by one, or do not take a tile. The
/// steps of quotients and of long chains count beside what is alive there, and the sums of a scan beside its elements.
struct AssembledPressure {
  int registers = 0;
  ir::Value const* largest = nullptr;  ///< of the values alive at the point with the most; none: nothing is alive
};
AssembledPressure pressure_as_assembled(ir::Block& block, std::function<int(ir::Value const&)> const& cost);

/// Estimates the registers of tiles alone, after ops that take or give whole ones: accesses to memory, reductions,
/// exchanges. Between them a thread computes element by element.
int whole_tile_pressure(ir::Function const& function);
int whole_tile_pressure(ir::Function const& function, std::function<int(ir::Value const&)> const& cost);

/// Counts only the registers of open products' accumulators, which cannot be recomputed or kept elsewhere.
int open_product_registers(ir::Function const& function);

}  // namespace tegula::analysis
