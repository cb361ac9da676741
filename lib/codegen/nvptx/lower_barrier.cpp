// Lowers mbarriers, barriers and fences: each op is one PTX instruction of the threads that reach it.
#include "codegen/nvptx/emitter.hpp"
#include "codegen/nvptx/prefetch_boxes.hpp"
#include "codegen/nvptx/ptx/mbarrier.hpp"
#include "codegen/nvptx/ptx/sync.hpp"

namespace tegula::codegen::nvptx {
namespace {

/// Returns an integer scalar as i32.
llvm::Value* word(Emitter& e, ir::Value const& value) {
  return e.b.CreateZExtOrTrunc(e.scalar(value), e.b.getInt32Ty());
}

/// Runs `body` on the address of every object.
template <class Body>
void each_object(Emitter& e, ir::Value const& mbarriers, Body const& body) {
  for (std::int64_t i = 0; i < mbarriers.type().elements(); ++i)
    body(e.b.CreateAdd(e.scalar(mbarriers), e.i32(i * ptx::mbarrier_bytes)));
}

}  // namespace

void lower(ir::MbarrierInitOp const& attributes, ir::Op const& op, Emitter& e) {
  each_object(e, *op.in<ir::MbarrierInitOp>("mbarrier"),
              [&](llvm::Value* barrier) { ptx::mbarrier_init(e.b, barrier, attributes.arrivals); });
}

void lower(ir::MbarrierInvalOp const&, ir::Op const& op, Emitter& e) {
  each_object(e, *op.in<ir::MbarrierInvalOp>("mbarrier"),
              [&](llvm::Value* barrier) { ptx::mbarrier_inval(e.b, barrier); });
}

void lower(ir::MbarrierArriveOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::Value* const barrier = e.scalar(*op.in<ir::MbarrierArriveOp>("mbarrier"));
  if (op.all<ir::MbarrierArriveOp>("rank").empty())
    ptx::mbarrier_arrive(e.b, barrier, attributes.count, e.target.has(Ability::suspended_wait));
  else
    ptx::mbarrier_arrive_remote(e.b, ptx::mapa(e.b, barrier, word(e, *op.in<ir::MbarrierArriveOp>("rank"))),
                                attributes.count, attributes.relaxed);
}

void lower(ir::MbarrierExpectOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::Value* const bytes = e.i32(attributes.bytes);
  if (attributes.arrive)
    ptx::mbarrier_arrive_expect_tx(e.b, e.scalar(*op.in<ir::MbarrierExpectOp>("mbarrier")), bytes);
  else
    ptx::mbarrier_expect_tx(e.b, e.scalar(*op.in<ir::MbarrierExpectOp>("mbarrier")), bytes);
}

void lower(ir::MbarrierWaitOp const& attributes, ir::Op const& op, Emitter& e) {
  llvm::Value* const parity = e.b.CreateAnd(word(e, *op.in<ir::MbarrierWaitOp>("parity")), e.i32(1));
  ptx::mbarrier_wait(e.b, e.scalar(*op.in<ir::MbarrierWaitOp>("mbarrier")), parity,
                     attributes.scope == ir::MemoryScope::cluster ? ptx::Scope::cluster : ptx::Scope::cta,
                     e.target.has(Ability::suspended_wait));
}

// Without clusters and TMA all users are threads of the CTA, and the barrier that follows orders them.
void lower(ir::FenceMbarrierInitOp const&, ir::Op const&, Emitter& e) {
  if (e.target.has(Ability::clusters)) ptx::fence_mbarrier_init(e.b);
}

void lower(ir::FenceProxyAsyncOp const& attributes, ir::Op const&, Emitter& e) {
  switch (attributes.space) {
    case ir::FenceSpace::shared:
      return ptx::fence_proxy_async(e.b, ptx::ProxySpace::shared);
    case ir::FenceSpace::global:
      return ptx::fence_proxy_async(e.b, ptx::ProxySpace::global);
    case ir::FenceSpace::all:
      return ptx::fence_proxy_async(e.b, ptx::ProxySpace::all);
  }
}

void lower(ir::BarrierOp const& attributes, ir::Op const& op, Emitter& e) {
  if (op.operand_count() == 0)
    ptx::barrier_cta(e.b);
  else
    ptx::barrier_sync(e.b, word(e, *op.in<ir::BarrierOp>("id")), attributes.threads);
}

void lower(ir::BarrierArriveOp const& attributes, ir::Op const& op, Emitter& e) {
  ptx::barrier_arrive(e.b, word(e, *op.in<ir::BarrierArriveOp>("id")), attributes.threads);
}

void lower(ir::WarpBarrierOp const&, ir::Op const&, Emitter& e) { ptx::barrier_warp(e.b); }
void lower(ir::ClusterArriveOp const& attributes, ir::Op const&, Emitter& e) {
  ptx::cluster_arrive(e.b, !attributes.relaxed);
}
void lower(ir::ClusterWaitOp const&, ir::Op const&, Emitter& e) { ptx::cluster_wait(e.b); }
void lower(ir::LaunchDependentsOp const&, ir::Op const&, Emitter& e) { ptx::launch_dependents(e.b); }
void lower(ir::WaitDependenciesOp const&, ir::Op const& op, Emitter& e) {
  prefetch_boxes(op, e);
  ptx::wait_for_prerequisites(e.b);
}

}  // namespace tegula::codegen::nvptx
