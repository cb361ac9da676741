// Declares the lowering of each op that GPUs run: one overload per op struct, in the file named. A line in ops.def
// whose op runs on GPUs does not compile without one (emitter.cpp). Elementwise ops have theirs in lower_arith.cpp
// alone.
#pragma once

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

#define TEGULA_LOWERING(name) void lower(ir::name const& attributes, ir::Op const& op, Emitter& emitter)
// functions.cpp
TEGULA_LOWERING(ReturnOp);
TEGULA_LOWERING(CallOp);
// lower_arith.cpp
TEGULA_LOWERING(ConstantOp);
// lower_async.cpp
TEGULA_LOWERING(TensorMapOp);
TEGULA_LOWERING(TmaLoadOp);
TEGULA_LOWERING(TmaStoreOp);
TEGULA_LOWERING(TmaReduceOp);
TEGULA_LOWERING(BulkLoadOp);
TEGULA_LOWERING(BulkStoreOp);
TEGULA_LOWERING(BulkCommitOp);
TEGULA_LOWERING(BulkWaitOp);
TEGULA_LOWERING(PrefetchTensorMapOp);
TEGULA_LOWERING(TmaPrefetchOp);
TEGULA_LOWERING(PrefetchOp);
TEGULA_LOWERING(CpAsyncOp);
TEGULA_LOWERING(CpAsyncGatherOp);
TEGULA_LOWERING(CpAsyncCommitOp);
TEGULA_LOWERING(CpAsyncWaitOp);
TEGULA_LOWERING(CpAsyncArriveOp);
TEGULA_LOWERING(AtomicOp);
// lower_pieces.cpp
TEGULA_LOWERING(CpAsyncCoverOp);
TEGULA_LOWERING(ShiftedLoadOp);
// lower_barrier.cpp
TEGULA_LOWERING(MbarrierInitOp);
TEGULA_LOWERING(MbarrierInvalOp);
TEGULA_LOWERING(MbarrierArriveOp);
TEGULA_LOWERING(MbarrierExpectOp);
TEGULA_LOWERING(MbarrierWaitOp);
TEGULA_LOWERING(FenceMbarrierInitOp);
TEGULA_LOWERING(FenceProxyAsyncOp);
TEGULA_LOWERING(BarrierOp);
TEGULA_LOWERING(BarrierArriveOp);
TEGULA_LOWERING(WarpBarrierOp);
TEGULA_LOWERING(ClusterArriveOp);
TEGULA_LOWERING(ClusterWaitOp);
TEGULA_LOWERING(LaunchDependentsOp);
TEGULA_LOWERING(WaitDependenciesOp);
// lower_control.cpp
TEGULA_LOWERING(ForOp);
TEGULA_LOWERING(RepeatOp);
TEGULA_LOWERING(IfOp);
TEGULA_LOWERING(YieldOp);
TEGULA_LOWERING(GridOp);
TEGULA_LOWERING(RequireOp);
TEGULA_LOWERING(ExtentOp);
TEGULA_LOWERING(BlockIndexOp);
TEGULA_LOWERING(GridExtentOp);
TEGULA_LOWERING(MultiprocessorsOp);
// lower_debug.cpp
TEGULA_LOWERING(AssertOp);
TEGULA_LOWERING(PrintOp);
// lower_descriptors.cpp
TEGULA_LOWERING(SliceOp);
TEGULA_LOWERING(PermuteOp);
TEGULA_LOWERING(BuildTensorMapOp);
TEGULA_LOWERING(ReleaseTensorMapsOp);
TEGULA_LOWERING(DeviceTensorMapOp);
TEGULA_LOWERING(AcquireTensorMapOp);
TEGULA_LOWERING(FreeTensorMapOp);
// lower_exchange.cpp
TEGULA_LOWERING(ReduceOp);
// lower_indexed.cpp
TEGULA_LOWERING(GatherOp);
TEGULA_LOWERING(ScatterOp);
TEGULA_LOWERING(AtomicUpdateOp);
TEGULA_LOWERING(CompareExchangeOp);
// lower_memory.cpp
TEGULA_LOWERING(LoadOp);
TEGULA_LOWERING(StoreOp);
// lower_mma.cpp
TEGULA_LOWERING(WgmmaOp);
TEGULA_LOWERING(WgmmaFenceOp);
TEGULA_LOWERING(WgmmaCommitOp);
TEGULA_LOWERING(WgmmaWaitOp);
TEGULA_LOWERING(MmaOp);
// lower_places.cpp
TEGULA_LOWERING(HistogramOp);
TEGULA_LOWERING(RanksOp);
TEGULA_LOWERING(TakeOp);
TEGULA_LOWERING(PutOp);
// lower_profile.cpp
TEGULA_LOWERING(RecordOp);
TEGULA_LOWERING(ProfileBeginOp);
TEGULA_LOWERING(ProfileAppendOp);
TEGULA_LOWERING(ProfileEndOp);
// lower_scan.cpp
TEGULA_LOWERING(ScanOp);
// lower_shape.cpp
TEGULA_LOWERING(IotaOp);
TEGULA_LOWERING(TableOp);
TEGULA_LOWERING(ItemOp);
// lower_shared.cpp
TEGULA_LOWERING(BufferAllocOp);
TEGULA_LOWERING(BufferDeallocOp);
TEGULA_LOWERING(ViewOp);
TEGULA_LOWERING(TransViewOp);
TEGULA_LOWERING(BufferLoadOp);
TEGULA_LOWERING(BufferStoreOp);
TEGULA_LOWERING(PeerStoreOp);
// lower_warp.cpp
TEGULA_LOWERING(WarpSpecializeOp);
TEGULA_LOWERING(ElectOp);
TEGULA_LOWERING(FillOp);
TEGULA_LOWERING(WarpIndexOp);
TEGULA_LOWERING(ClusterRankOp);
TEGULA_LOWERING(VoteOp);
TEGULA_LOWERING(ShuffleOp);
TEGULA_LOWERING(FoldOp);
#undef TEGULA_LOWERING

/// Lowers a shape op by its source (lower_shape.cpp).
void lower_shape(ir::Op const& op, Emitter& emitter);
/// Lowers an elementwise op (lower_arith.cpp).
void lower_elementwise(ir::Op const& op, Emitter& emitter);

}  // namespace tegula::codegen::nvptx
