// Declares the meaning of each op: one overload of execute per op struct, in arithmetic.cpp, shape.cpp, memory.cpp,
// control.cpp; one for all shape ops. A line in ops.def without an overload here does not compile (interpreter.cpp).
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
TEGULA_SIM_MEANING(AddOp);
TEGULA_SIM_MEANING(SubOp);
TEGULA_SIM_MEANING(MulOp);
TEGULA_SIM_MEANING(DivOp);
TEGULA_SIM_MEANING(RemOp);
TEGULA_SIM_MEANING(CeilDivOp);
TEGULA_SIM_MEANING(MinOp);
TEGULA_SIM_MEANING(MaxOp);
TEGULA_SIM_MEANING(AndOp);
TEGULA_SIM_MEANING(OrOp);
TEGULA_SIM_MEANING(XorOp);
TEGULA_SIM_MEANING(ShlOp);
TEGULA_SIM_MEANING(ShrOp);
TEGULA_SIM_MEANING(CompareOp);
TEGULA_SIM_MEANING(SelectOp);
TEGULA_SIM_MEANING(FmaOp);
TEGULA_SIM_MEANING(NegOp);
TEGULA_SIM_MEANING(NotOp);
TEGULA_SIM_MEANING(AbsOp);
#define TEGULA_EXACT(op, ...) TEGULA_SIM_MEANING(op);
#define TEGULA_EXPANDED TEGULA_EXACT
#define TEGULA_EXPANDED_2 TEGULA_EXACT
#include "tegula/math/elementary.def"
// conversion.cpp
TEGULA_SIM_MEANING(CastOp);
TEGULA_SIM_MEANING(BitcastOp);
// shape.cpp
TEGULA_SIM_MEANING(IotaOp);
TEGULA_SIM_MEANING(ReduceOp);
TEGULA_SIM_MEANING(ScanOp);
TEGULA_SIM_MEANING(DotOp);
// memory.cpp
TEGULA_SIM_MEANING(LoadOp);
TEGULA_SIM_MEANING(StoreOp);
TEGULA_SIM_MEANING(GatherOp);
TEGULA_SIM_MEANING(ScatterOp);
TEGULA_SIM_MEANING(AtomicUpdateOp);
TEGULA_SIM_MEANING(CompareExchangeOp);
TEGULA_SIM_MEANING(SliceOp);
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

/// Throws a UserError for block ops: warps run them (lib/sim/block), blocks do not.
[[noreturn]] void refuse_block_op(ir::Op const& op);
template <ir::BlockOp OpStruct>
void execute(Agent&, ir::Op const& op, OpStruct const&) {
  refuse_block_op(op);
}

/// Gives a float rounded to the element it stands for, in the storage of that element.
float round_to_element(float value, Element element);

}  // namespace tegula::sim
