// Declares the meaning to one warp of each op that it runs: an overload of perform per op struct. A line in ops.def
// without one does not compile (warp_program.cpp). Arithmetic is element by element, so it means the same to a fragment
// as to a tile.
#pragma once

#include "sim/block/warp_program.hpp"
#include "sim/meaning.hpp"

namespace tegula::sim::block {

/// Runs ops on fragments by the meaning of whole tiles (sim/meaning.hpp).
template <class OpStruct>
concept SameForFragments = !ir::BlockOp<OpStruct> &&
                           (OpStruct::family == ir::Family::elementwise || OpStruct::family == ir::Family::symbolic ||
                            OpStruct::family == ir::Family::launch || std::is_same_v<OpStruct, ir::ConstantOp>);
template <SameForFragments OpStruct>
Progress perform(WarpProgram& warp, ir::Op const& op, OpStruct const& attributes) {
  execute(warp.agent(), op, attributes);
  return Progress::done;
}

/// Runs a shape op by its source.
Progress move_elements(WarpProgram& warp, ir::Op const& op);
template <ir::ShapeOp OpStruct>
Progress perform(WarpProgram& warp, ir::Op const& op, OpStruct const&) {
  return move_elements(warp, op);
}

#define TEGULA_BLOCK_MEANING(name) Progress perform(WarpProgram& warp, ir::Op const& op, ir::name const& attributes)
// control.cpp
TEGULA_BLOCK_MEANING(ForOp);
TEGULA_BLOCK_MEANING(RepeatOp);
TEGULA_BLOCK_MEANING(IfOp);
TEGULA_BLOCK_MEANING(YieldOp);
TEGULA_BLOCK_MEANING(ReturnOp);
TEGULA_BLOCK_MEANING(CallOp);
TEGULA_BLOCK_MEANING(WarpSpecializeOp);
TEGULA_BLOCK_MEANING(ElectOp);
TEGULA_BLOCK_MEANING(FillOp);
TEGULA_BLOCK_MEANING(WarpIndexOp);
TEGULA_BLOCK_MEANING(ClusterRankOp);
// shape.cpp
TEGULA_BLOCK_MEANING(IotaOp);
TEGULA_BLOCK_MEANING(TableOp);
TEGULA_BLOCK_MEANING(ShuffleOp);
TEGULA_BLOCK_MEANING(ItemOp);
// reduce.cpp
TEGULA_BLOCK_MEANING(ReduceOp);
TEGULA_BLOCK_MEANING(ScanOp);
TEGULA_BLOCK_MEANING(FoldOp);
TEGULA_BLOCK_MEANING(VoteOp);
// places.cpp
TEGULA_BLOCK_MEANING(HistogramOp);
TEGULA_BLOCK_MEANING(RanksOp);
TEGULA_BLOCK_MEANING(TakeOp);
TEGULA_BLOCK_MEANING(PutOp);
// matrix.cpp
TEGULA_BLOCK_MEANING(WgmmaOp);
TEGULA_BLOCK_MEANING(WgmmaFenceOp);
TEGULA_BLOCK_MEANING(WgmmaCommitOp);
TEGULA_BLOCK_MEANING(WgmmaWaitOp);
TEGULA_BLOCK_MEANING(MmaOp);
// memory.cpp
TEGULA_BLOCK_MEANING(LoadOp);
TEGULA_BLOCK_MEANING(StoreOp);
TEGULA_BLOCK_MEANING(GatherOp);
TEGULA_BLOCK_MEANING(ScatterOp);
TEGULA_BLOCK_MEANING(AtomicUpdateOp);
TEGULA_BLOCK_MEANING(CompareExchangeOp);
TEGULA_BLOCK_MEANING(AtomicOp);
TEGULA_BLOCK_MEANING(BufferAllocOp);
TEGULA_BLOCK_MEANING(BufferDeallocOp);
TEGULA_BLOCK_MEANING(ViewOp);
TEGULA_BLOCK_MEANING(TransViewOp);
TEGULA_BLOCK_MEANING(BufferLoadOp);
TEGULA_BLOCK_MEANING(BufferStoreOp);
TEGULA_BLOCK_MEANING(PeerStoreOp);
TEGULA_BLOCK_MEANING(ShiftedLoadOp);
// log.cpp
TEGULA_BLOCK_MEANING(RecordOp);
TEGULA_BLOCK_MEANING(ProfileBeginOp);
TEGULA_BLOCK_MEANING(ProfileAppendOp);
TEGULA_BLOCK_MEANING(ProfileEndOp);
// debug.cpp
TEGULA_BLOCK_MEANING(AssertOp);
TEGULA_BLOCK_MEANING(PrintOp);
// barrier.cpp
TEGULA_BLOCK_MEANING(MbarrierInitOp);
TEGULA_BLOCK_MEANING(MbarrierInvalOp);
TEGULA_BLOCK_MEANING(MbarrierArriveOp);
TEGULA_BLOCK_MEANING(MbarrierExpectOp);
TEGULA_BLOCK_MEANING(MbarrierWaitOp);
TEGULA_BLOCK_MEANING(FenceMbarrierInitOp);
TEGULA_BLOCK_MEANING(FenceProxyAsyncOp);
TEGULA_BLOCK_MEANING(BarrierOp);
TEGULA_BLOCK_MEANING(BarrierArriveOp);
TEGULA_BLOCK_MEANING(WarpBarrierOp);
TEGULA_BLOCK_MEANING(ClusterArriveOp);
TEGULA_BLOCK_MEANING(ClusterWaitOp);
TEGULA_BLOCK_MEANING(LaunchDependentsOp);
TEGULA_BLOCK_MEANING(WaitDependenciesOp);
// copy.cpp
TEGULA_BLOCK_MEANING(TensorMapOp);
TEGULA_BLOCK_MEANING(BuildTensorMapOp);
TEGULA_BLOCK_MEANING(ReleaseTensorMapsOp);
TEGULA_BLOCK_MEANING(DeviceTensorMapOp);
TEGULA_BLOCK_MEANING(AcquireTensorMapOp);
TEGULA_BLOCK_MEANING(FreeTensorMapOp);
TEGULA_BLOCK_MEANING(TmaLoadOp);
TEGULA_BLOCK_MEANING(TmaStoreOp);
TEGULA_BLOCK_MEANING(TmaReduceOp);
TEGULA_BLOCK_MEANING(PrefetchTensorMapOp);
TEGULA_BLOCK_MEANING(TmaPrefetchOp);
TEGULA_BLOCK_MEANING(PrefetchOp);
// copy_linear.cpp
TEGULA_BLOCK_MEANING(BulkLoadOp);
TEGULA_BLOCK_MEANING(BulkStoreOp);
TEGULA_BLOCK_MEANING(BulkCommitOp);
TEGULA_BLOCK_MEANING(BulkWaitOp);
TEGULA_BLOCK_MEANING(CpAsyncOp);
TEGULA_BLOCK_MEANING(CpAsyncGatherOp);
TEGULA_BLOCK_MEANING(CpAsyncCoverOp);
TEGULA_BLOCK_MEANING(CpAsyncCommitOp);
TEGULA_BLOCK_MEANING(CpAsyncWaitOp);
TEGULA_BLOCK_MEANING(CpAsyncArriveOp);
#undef TEGULA_BLOCK_MEANING

}  // namespace tegula::sim::block
