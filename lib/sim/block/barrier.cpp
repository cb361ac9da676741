// Passes mbarriers, barriers and fences to the machine, which knows their rules.
#include <fmt/format.h>

#include <bit>

#include "sim/block/meaning.hpp"

namespace tegula::sim::block {

using namespace ir;

namespace {

machine::FenceSpace space_of(ir::FenceSpace space) {
  switch (space) {
    case ir::FenceSpace::shared:
      return machine::FenceSpace::shared;
    case ir::FenceSpace::global:
      return machine::FenceSpace::global;
    case ir::FenceSpace::all:
      break;
  }
  return machine::FenceSpace::all;
}

/// Runs one action per object of an array of mbarriers; more than one lane would act on each more than once.
template <class Act>
Progress each_object(WarpProgram& warp, Op const& op, Act const& act) {
  if (std::popcount(warp.lanes()) != 1)
    warp.engine().report(
        machine::ReportKind::misuse,
        fmt::format("{} lanes execute this, and one must; put it into an elect region", std::popcount(warp.lanes())),
        warp.site());
  ir::Value const& barriers = *op.in("mbarrier");
  machine::MbarrierAddress address = warp.mbarrier(barriers);
  address.offset += 8 * static_cast<std::uint32_t>(warp.turn());
  act(machine::lane(std::countr_zero(warp.lanes())), address);
  return warp.turn() + 1 < barriers.type().elements() ? Progress::again : Progress::turn;
}

}  // namespace

Progress perform(WarpProgram& warp, Op const& op, MbarrierInitOp const& attributes) {
  return each_object(warp, op, [&](machine::Lanes one, machine::MbarrierAddress address) {
    (void)warp.warp().mbarrier_init(one, address, attributes.arrivals, warp.site());
  });
}

Progress perform(WarpProgram& warp, Op const& op, MbarrierInvalOp const&) {
  return each_object(warp, op, [&](machine::Lanes one, machine::MbarrierAddress address) {
    (void)warp.warp().mbarrier_inval(one, address, warp.site());
  });
}

Progress perform(WarpProgram& warp, Op const& op, MbarrierArriveOp const& attributes) {
  machine::MbarrierAddress address = warp.mbarrier(*op.in<MbarrierArriveOp>("mbarrier"));
  machine::Scope scope = machine::Scope::cta;
  if (!op.all<MbarrierArriveOp>("rank").empty()) {
    auto const peer = warp.peer(*op.in<MbarrierArriveOp>("rank"));
    if (!peer) return Progress::done;
    address.cta = *peer;
    scope = attributes.relaxed ? machine::Scope::cluster_relaxed : machine::Scope::cluster;
  }
  (void)warp.warp().arrive(warp.lanes(), address, attributes.count, warp.site(), scope);
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const& op, MbarrierExpectOp const& attributes) {
  machine::MbarrierAddress const address = warp.mbarrier(*op.in<MbarrierExpectOp>("mbarrier"));
  if (attributes.arrive)
    (void)warp.warp().arrive_expect_tx(warp.lanes(), address, attributes.bytes, warp.site());
  else
    (void)warp.warp().expect_tx(warp.lanes(), address, attributes.bytes, warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const& op, MbarrierWaitOp const& attributes) {
  auto const parity = static_cast<std::uint32_t>(warp.integer(*op.in<MbarrierWaitOp>("parity")) & 1);
  auto const scope = attributes.scope == MemoryScope::cluster ? machine::Scope::cluster : machine::Scope::cta;
  (void)warp.warp().wait_parity(warp.lanes(), warp.mbarrier(*op.in<MbarrierWaitOp>("mbarrier")), parity, warp.site(),
                                scope);
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const&, FenceMbarrierInitOp const&) {
  warp.warp().fence_mbarrier_init(warp.lanes(), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const&, FenceProxyAsyncOp const& attributes) {
  warp.warp().fence_proxy_async(warp.lanes(), space_of(attributes.space), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const& op, BarrierOp const& attributes) {
  int const id = op.operand_count() == 0 ? 0 : static_cast<int>(warp.integer(*op.in<BarrierOp>("id")));
  (void)warp.warp().barrier(id, static_cast<int>(attributes.threads), warp.lanes(), warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const& op, BarrierArriveOp const& attributes) {
  (void)warp.warp().barrier_arrive(static_cast<int>(warp.integer(*op.in<BarrierArriveOp>("id"))),
                                   static_cast<int>(attributes.threads), warp.lanes(), warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const&, WarpBarrierOp const&) {
  warp.warp().warp_sync(warp.lanes(), warp.site());
  return Progress::done;
}

Progress perform(WarpProgram& warp, Op const&, ClusterArriveOp const& attributes) {
  (void)warp.warp().cluster_arrive(warp.lanes(), warp.site(), attributes.relaxed);
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const&, ClusterWaitOp const&) {
  (void)warp.warp().cluster_wait(warp.lanes(), warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const&, LaunchDependentsOp const&) {
  (void)warp.warp().dependents_launch(warp.lanes(), warp.site());
  return Progress::turn;
}

Progress perform(WarpProgram& warp, Op const&, WaitDependenciesOp const&) {
  (void)warp.warp().dependencies_wait(warp.lanes(), warp.site());
  return Progress::turn;
}

}  // namespace tegula::sim::block
