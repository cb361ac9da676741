// Declares the meaning of each op that this simulator runs: one overload of execute per op struct, in shape.cpp,
// memory.cpp, control.cpp; one for all shape ops. A line in ops.def without an overload here does not compile
// (interpreter.cpp). Elementwise ops have theirs in arithmetic.cpp alone.
#pragma once

#include "sim/agent.hpp"

namespace tegula::sim {

#define TEGULA_SIM_MEANING(name) void execute(Agent& agent, ir::Op const& op, ir::name const& attributes)
// control.cpp
TEGULA_SIM_MEANING(ForOp);
TEGULA_SIM_MEANING(RepeatOp);
TEGULA_SIM_MEANING(IfOp);
TEGULA_SIM_MEANING(YieldOp);
TEGULA_SIM_MEANING(ReturnOp);
TEGULA_SIM_MEANING(CallOp);
TEGULA_SIM_MEANING(GridOp);
TEGULA_SIM_MEANING(RequireOp);
TEGULA_SIM_MEANING(ExtentOp);
TEGULA_SIM_MEANING(BlockIndexOp);
TEGULA_SIM_MEANING(GridExtentOp);
TEGULA_SIM_MEANING(MultiprocessorsOp);
// arithmetic.cpp
TEGULA_SIM_MEANING(ConstantOp);
// shape.cpp
TEGULA_SIM_MEANING(IotaOp);
TEGULA_SIM_MEANING(TableOp);
TEGULA_SIM_MEANING(ItemOp);
TEGULA_SIM_MEANING(ItemAtOp);
TEGULA_SIM_MEANING(ReduceOp);
TEGULA_SIM_MEANING(ScanOp);
TEGULA_SIM_MEANING(DotOp);
// places.cpp
TEGULA_SIM_MEANING(HistogramOp);
TEGULA_SIM_MEANING(RanksOp);
TEGULA_SIM_MEANING(TakeOp);
TEGULA_SIM_MEANING(PutOp);
// memory.cpp
TEGULA_SIM_MEANING(LoadOp);
TEGULA_SIM_MEANING(StoreOp);
TEGULA_SIM_MEANING(GatherOp);
TEGULA_SIM_MEANING(ScatterOp);
TEGULA_SIM_MEANING(AtomicUpdateOp);
TEGULA_SIM_MEANING(CompareExchangeOp);
TEGULA_SIM_MEANING(SliceOp);
TEGULA_SIM_MEANING(PermuteOp);
// debug.cpp
TEGULA_SIM_MEANING(AssertOp);
TEGULA_SIM_MEANING(PrintOp);
// log.cpp
TEGULA_SIM_MEANING(RecordOp);
TEGULA_SIM_MEANING(ProfileBeginOp);
TEGULA_SIM_MEANING(ProfileAppendOp);
TEGULA_SIM_MEANING(ProfileEndOp);
TEGULA_SIM_MEANING(BufferAllocOp);
#undef TEGULA_SIM_MEANING

/// Runs a shape op by its source.
void move_elements(Agent& agent, ir::Op const& op);
template <ir::ShapeOp OpStruct>
void execute(Agent& agent, ir::Op const& op, OpStruct const&) {
  move_elements(agent, op);
}

/// Throws a UserError for an op that warps run (lib/sim/block), but whole tiles do not.
[[noreturn]] void refuse_block_op(ir::Op const& op);

/// Runs an elementwise op, of tiles and of fragments (arithmetic.cpp).
void execute_elementwise(Agent& agent, ir::Op const& op);
template <ir::ElementwiseOp OpStruct>
void execute(Agent& agent, ir::Op const& op, OpStruct const&) {
  execute_elementwise(agent, op);
}
/// Run conversions (conversion.cpp).
void convert(Agent& agent, ir::Op const& op);
void copy_bits(Agent& agent, ir::Op const& op);

/// Returns a float rounded to the element it stands for, in the storage of that element.
float round_to_element(float value, Element element);

}  // namespace tegula::sim
