// Defines mbarriers, barriers and fences. "Executing threads" are the threads that reach the op: the whole CTA, one
// replica of a partition (warp_specialize) or one lane (elect).
#pragma once

#include "tegula/ir/fields.hpp"

namespace tegula::ir {

using namespace std::string_view_literals;

/// States the purpose of a synchronising op. `order` closes a hazard: without the op the simulator finds an error.
/// `schedule` only decides which warps run when.
enum class Purpose : std::uint8_t { order, schedule };
template <>
inline constexpr std::array enum_names<Purpose>{"order"sv, "schedule"sv};

enum class FenceSpace : std::uint8_t { shared, global, all };
template <>
inline constexpr std::array enum_names<FenceSpace>{"shared"sv, "global"sv, "all"sv};

enum class MemoryScope : std::uint8_t { cta, cluster };
template <>
inline constexpr std::array enum_names<MemoryScope>{"cta"sv, "cluster"sv};

/// Initialises mbarriers: `mbarrier_init %b {arrivals = 8}`. Each object of %b expects so many arrivals per phase (1 ..
/// 2^20-1). One lane.
struct MbarrierInitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "mbarrier_init";
  static constexpr auto operands = names("mbarrier");
  static constexpr Effects effects = writes(Space::shared, 0);
  std::int64_t arrivals = 1;
  static constexpr auto attributes() {
    return fields(field("arrivals", &MbarrierInitOp::arrivals, bounds::mbarrier_count));
  }
};

/// Invalidates mbarriers: `mbarrier_inval %b`. The bytes of each object may be used for something else after a barrier.
/// One lane.
struct MbarrierInvalOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "mbarrier_inval";
  static constexpr auto operands = names("mbarrier");
  static constexpr Effects effects = writes(Space::shared, 0);
};

/// Arrives: in `mbarrier_arrive %b {count = 1}` every executing thread arrives `count` times, with release semantics.
/// With a rank, `mbarrier_arrive %b, %rank`, at the same object of that CTA of the cluster, with the cluster's scope.
/// `relaxed`: without release semantics for the thread's own ordinary accesses, which costs a memory barrier of the
/// whole GPU. Reads of products that a wgmma_wait has ended are over all the same.
struct MbarrierArriveOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "mbarrier_arrive";
  static constexpr auto operands = names("mbarrier", "rank");
  static constexpr unsigned traits = variadic;
  static constexpr Effects effects = reads(Space::shared, 0);
  std::int64_t count = 1;
  bool relaxed = false;
  Purpose purpose = Purpose::order;
  static constexpr auto attributes() {
    return fields(field("count", &MbarrierArriveOp::count, bounds::mbarrier_count),
                  field("relaxed", &MbarrierArriveOp::relaxed), field("purpose", &MbarrierArriveOp::purpose));
  }
};

/// Expects bytes: in `mbarrier_expect %b {bytes = 32768}` every executing thread adds the bytes to the count that the
/// current phase waits for. It also arrives once (arrive.expect_tx); with `arrive = false` it only adds them.
struct MbarrierExpectOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "mbarrier_expect";
  static constexpr auto operands = names("mbarrier");
  static constexpr Effects effects = reads(Space::shared, 0);
  std::int64_t bytes = 0;
  bool arrive = true;
  static constexpr auto attributes() {
    return fields(field("bytes", &MbarrierExpectOp::bytes, {0, bounds::mbarrier_count.max}),
                  field("arrive", &MbarrierExpectOp::arrive));
  }
};

/// Waits: in `mbarrier_wait %b, %parity` every executing thread waits, with acquire semantics, until the phase of that
/// parity has completed. The parity is the lowest bit of an integer scalar. `scope = cluster` when arrivals come from
/// other CTAs.
struct MbarrierWaitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "mbarrier_wait";
  static constexpr auto operands = names("mbarrier", "parity");
  static constexpr Effects effects = reads(Space::shared, 0);
  MemoryScope scope = MemoryScope::cta;
  Purpose purpose = Purpose::order;
  static constexpr auto attributes() {
    return fields(field("scope", &MbarrierWaitOp::scope), field("purpose", &MbarrierWaitOp::purpose));
  }
};

/// Publishes this thread's mbarrier_init to the cluster and to copies: `fence_mbarrier_init`; a barrier follows.
struct FenceMbarrierInitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "fence_mbarrier_init";
  static constexpr auto operands = names();
};

/// Orders this thread's earlier generic accesses before the accesses of the async proxy that come after the fence:
/// `fence_proxy_async {space = shared}` (PTX: fence.proxy.async). Executed by every thread that made the accesses.
struct FenceProxyAsyncOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "fence_proxy_async";
  static constexpr auto operands = names();
  FenceSpace space = FenceSpace::shared;
  static constexpr auto attributes() { return fields(field("space", &FenceProxyAsyncOp::space)); }
};

/// Synchronises threads. `barrier`: all threads of the CTA (bar.sync 0); not inside warp_specialize.
/// `barrier %id {threads = 128}`: the named barrier %id (1 .. 15), at which so many threads meet, a multiple of 32.
struct BarrierOp : OpDefaults<Family::synchronisation, on_host | on_warps> {
  static constexpr std::string_view mnemonic = "barrier";
  static constexpr auto operands = names("id");
  static constexpr unsigned traits = collective | variadic;
  std::int64_t threads = 0;
  Purpose purpose = Purpose::order;
  static constexpr auto attributes() {
    return fields(field("threads", &BarrierOp::threads, bounds::barrier_threads),
                  field("purpose", &BarrierOp::purpose));
  }
};

/// Arrives at a named barrier without waiting: `barrier_arrive %id {threads = 256}` (bar.arrive).
struct BarrierArriveOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "barrier_arrive";
  static constexpr auto operands = names("id");
  static constexpr unsigned traits = collective;
  std::int64_t threads = 0;
  Purpose purpose = Purpose::order;
  static constexpr auto attributes() {
    return fields(field("threads", &BarrierArriveOp::threads, bounds::barrier_threads),
                  field("purpose", &BarrierArriveOp::purpose));
  }
};

/// Synchronises the lanes of each executing warp, which then see each other's accesses: `warp_barrier` (bar.warp.sync).
struct WarpBarrierOp : OpDefaults<Family::synchronisation, on_host | on_warps> {
  static constexpr std::string_view mnemonic = "warp_barrier";
  static constexpr auto operands = names();
  static constexpr unsigned traits = collective;
  Purpose purpose = Purpose::order;
  static constexpr auto attributes() { return fields(field("purpose", &WarpBarrierOp::purpose)); }
};

/// Synchronises the cluster in two halves: `cluster_arrive {relaxed = false}`, `cluster_wait`; relaxed does not order
/// accesses.
struct ClusterArriveOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "cluster_arrive";
  static constexpr auto operands = names();
  static constexpr unsigned traits = collective;
  bool relaxed = false;
  static constexpr auto attributes() { return fields(field("relaxed", &ClusterArriveOp::relaxed)); }
};
/// Waits until all threads of the cluster have arrived: `cluster_wait`.
struct ClusterWaitOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "cluster_wait";
  static constexpr auto operands = names();
  static constexpr unsigned traits = collective;
};

/// Lets the next grid of the stream start: `launch_dependents` (griddepcontrol.launch_dependents); gives no visibility.
struct LaunchDependentsOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "launch_dependents";
  static constexpr auto operands = names();
};

/// Waits until the grids before this one are complete and flushed: `wait_dependencies` (griddepcontrol.wait). Comes
/// before the first access to memory that they touch. A kernel that has it is launched with programmatic stream
/// serialisation.
struct WaitDependenciesOp : OpDefaults<Family::synchronisation, on_warps> {
  static constexpr std::string_view mnemonic = "wait_dependencies";
  static constexpr auto operands = names();
};

}  // namespace tegula::ir
