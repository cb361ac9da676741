// Declares the actions of a warp. Each function is one instruction (or one per lane), with the lanes that execute it.
//
// Functions that return void take effect at once and are not points of the schedule: plain accesses, fences, commits.
// Functions that return Turn are points of the schedule: a coroutine awaits them, a step function returns after them.
#pragma once

#include <cstdint>
#include <span>

#include "sim/machine/program.hpp"
#include "sim/machine/time.hpp"
#include "sim/machine/types.hpp"

namespace tegula {
struct CostModel;
}

namespace tegula::sim::machine {

struct State;
struct WarpState;

/// Names the paths of a multiprocessor that all its warps share.
enum class Port : std::uint8_t { shared, global };

/// Names the memory order of an atomic.
enum class AtomicOrder : std::uint8_t { relaxed, acquire, release, acq_rel };

/// Describes a TMA or bulk copy into shared memory. `destination` names the bytes in the issuing CTA. Multicast writes
/// the same bytes and signals the same mbarrier offset in each CTA of `multicast` (bits are ranks).
struct CopyIn {
  Footprint source = {};       // global bytes that are read (in bounds)
  Footprint destination = {};  // shared bytes that are written
  MbarrierAddress mbarrier = {};
  std::uint32_t bytes = 0;       // counted by the mbarrier: the full box
  std::uint32_t alignment = 16;  // of the destination's first byte: 128 for TMA, 1024/512/256 under a swizzle
  std::uint32_t multicast = 0;   // 0: the issuing CTA alone
  Footprint tensor_map = {};     // bytes of the descriptor, if it lies in a buffer
  Effect effect = {};            // called once, with write_result, per destination CTA (payload + rank when multicast)
};

/// Describes a TMA or bulk copy, or reduction, out of shared memory.
struct CopyOut {
  Footprint source = {};
  Footprint destination = {};
  std::uint32_t alignment = 16;  // of the source's first byte
  bool reduce = false;           // elementwise atomic on the destination
  Footprint tensor_map = {};
  Effect effect = {};  // read_source, later write_result
};

/// Describes an st.async of some lanes to another CTA of the cluster. `destination` names the bytes as the issuing CTA
/// has them.
struct PeerStore {
  int cta = 0;
  Footprint destination = {};
  MbarrierAddress mbarrier = {};  // in that CTA
  std::uint32_t bytes = 0;        // that it counts
  Effect effect = {};             // write_result
};

/// Describes a cp.async of some lanes.
struct AsyncCopy {
  Footprint source = {};
  Footprint destination = {};
  Effect effect = {};
};

/// Describes one warp's part of a wgmma.
struct Wgmma {
  std::span<Footprint const> shared = {};  // operands in shared memory, as far as this warp's part reads them
  Footprint a_registers = {};              // in the warp's register space; empty when A is in shared memory
  Footprint accumulators = {};             // in the warp's register space
  bool accumulate = true;                  // scale-d: false leaves the old accumulators unread
  Time clocks = 0;                         // of the tensor core of this warp's quarter
  std::uint32_t shape = 0;                 // chains of one shape in the same registers need no wait between
  Effect effect = {};
};

/// Handles one warp of a machine; freely copied.
class Warp {
 public:
  Warp(State& state, int number) : state_(&state), number_(number) {}
  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int cta() const;
  [[nodiscard]] Space shared() const;
  [[nodiscard]] Space registers() const;

  // --- virtual time: moves no other agent, and is not a point of the schedule
  // -------------------------------------------
  /// Returns the target's costs; null if this run has none.
  [[nodiscard]] CostModel const* costs() const;
  /// Returns this warp's clock, in clocks of the multiprocessor.
  [[nodiscard]] Time now() const;
  void wait_until_time(Time);
  void spend(Time clocks);
  /// Starts so many instructions, which share the scheduler of this warp's quarter with the other warps.
  void start_instructions(Time count);
  /// Moves bytes; returns the time when the last one has passed.
  Time transfer(Port, double bytes);
  /// Occupies the tensor core of this warp's quarter; returns the end.
  Time multiply(Time clocks);

  // --- ordinary accesses (generic proxy), of memory and of registers -------------------------------------------------
  void read(Lanes, Footprint const&, ActionSite);
  void write(Lanes, Footprint const&, ActionSite);
  /// Declares bytes dead (a released stage): a read before the next write is stale.
  void give_up(Lanes, Footprint const&, ActionSite);
  /// `of_cta`: one step for the threads of this CTA alone.
  Turn atomic(Lanes, Footprint const&, AtomicOrder, ActionSite, bool of_cta = false);
  void read_registers(std::uint64_t begin, std::uint64_t end, ActionSite);
  void write_registers(std::uint64_t begin, std::uint64_t end, ActionSite);

  // --- order
  // ------------------------------------------------------------------------------------------------------------
  /// Executes bar.warp.sync; also the warp's reconvergence after an elected region where the op is one that orders
  /// memory.
  void warp_sync(Lanes, ActionSite);
  void fence_proxy_async(Lanes, FenceSpace, ActionSite);
  void fence_mbarrier_init(Lanes, ActionSite);
  /// Executes fence.proxy.tensormap release: of the descriptors that these lanes wrote.
  void release_tensor_maps(Lanes, ActionSite);
  /// Executes fence.proxy.tensormap acquire of one descriptor.
  void acquire_tensor_map(Lanes, Footprint const&, ActionSite);
  /// Executes bar.sync id, threads (barrier 0 of all threads of the CTA when threads is 0).
  Turn barrier(int id, int threads, Lanes, ActionSite);
  /// Executes bar.arrive.
  Turn barrier_arrive(int id, int threads, Lanes, ActionSite);
  /// `relaxed` (barrier.cluster.arrive.relaxed) orders no access; waiting warps know that this warp has begun, and the
  /// mbarriers that its fence.mbarrier_init published.
  Turn cluster_arrive(Lanes, ActionSite, bool relaxed = false);
  Turn cluster_wait(Lanes, ActionSite);
  Turn dependents_launch(Lanes, ActionSite);
  /// Executes griddepcontrol.wait.
  Turn dependencies_wait(Lanes, ActionSite);
  /// Waits until the driver's condition holds (asked again whenever the scheduler looks; it must not change anything).
  Turn wait_until(bool (*condition)(void* context, std::uint64_t payload), void* context, std::uint64_t payload,
                  ActionSite);

  // --- mbarrier
  // ---------------------------------------------------------------------------------------------------------
  Turn mbarrier_init(Lanes one, MbarrierAddress, std::int64_t count, ActionSite);
  Turn mbarrier_inval(Lanes one, MbarrierAddress, ActionSite);
  /// Executes `count` arrivals by each lane.
  Turn arrive(Lanes, MbarrierAddress, std::int64_t count, ActionSite, Scope = Scope::cta);
  /// Executes expect_tx and one arrival, by each lane.
  Turn arrive_expect_tx(Lanes, MbarrierAddress, std::int64_t bytes, ActionSite, Scope = Scope::cta);
  Turn expect_tx(Lanes, MbarrierAddress, std::int64_t bytes, ActionSite);
  Turn arrive_drop(Lanes, MbarrierAddress, ActionSite);
  /// Executes the loop around try_wait.parity. `phase` is the number of the phase that must be the one just finished,
  /// where the driver knows it. By default each wait of a thread is for the phase after its last one.
  Turn wait_parity(Lanes, MbarrierAddress, std::uint32_t parity, ActionSite, Scope = Scope::cta,
                   std::int64_t phase = -2);
  /// Executes one try_wait; the turn's answer tells whether it passed.
  Turn test_parity(Lanes, MbarrierAddress, std::uint32_t parity, ActionSite, Scope = Scope::cta);

  // --- asynchronous copies
  // ----------------------------------------------------------------------------------------------
  Turn copy_in(Lanes one, CopyIn const&, ActionSite);
  Turn copy_out(Lanes one, CopyOut const&, ActionSite);
  Turn peer_store(Lanes, PeerStore const&, ActionSite);
  void bulk_commit(Lanes, ActionSite);
  /// Leaves at most the `pending` youngest groups of these lanes open; `read` (.read): only their sources count.
  Turn bulk_wait(Lanes, int pending, bool read, ActionSite);
  Turn cp_async(Lanes, AsyncCopy const&, ActionSite);
  void cp_async_commit(Lanes, ActionSite);
  Turn cp_async_wait(Lanes, int pending, ActionSite);
  /// Executes cp.async.mbarrier.arrive(.noinc): each lane arrives when its earlier cp.async are done.
  Turn cp_async_arrive(Lanes, MbarrierAddress, bool noinc, ActionSite);

  // --- wgmma
  // ------------------------------------------------------------------------------------------------------------
  void wgmma_fence(ActionSite);
  Turn wgmma(Wgmma const&, ActionSite);
  void wgmma_commit(ActionSite);
  Turn wgmma_wait(int pending, ActionSite);

  /// Executes setmaxnreg.inc / .dec; the direction follows from the count where `increase` agrees, else it is reported.
  Turn set_max_registers(bool increase, std::uint32_t count, ActionSite);

 private:
  [[nodiscard]] WarpState& begin(ActionSite const&, Lanes);
  Turn turn(WarpState&);

  State* state_;
  int number_;
};

}  // namespace tegula::sim::machine
