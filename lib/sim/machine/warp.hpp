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
  /// Gives the target's costs; null if this run has none.
  [[nodiscard]] CostModel const* costs() const;
  /// Gives this warp's clock, in clocks of the multiprocessor.
  [[nodiscard]] Time now() const;
  void wait_until_time(Time);
  void spend(Time clocks);
  /// Starts so many instructions, which share the scheduler of this warp's quarter with the other warps.
  void start_instructions(Time count);
  /// Moves bytes; gives the time when the last one has passed.
  Time transfer(Port, double bytes);
  /// Occupies the tensor core of this warp's quarter; gives the end.
  Time multiply(Time clocks);

  // --- ordinary accesses (generic proxy), of memory and of registers -------------------------------------------------
  void read(Lanes, Footprint const&, Site);
  void write(Lanes, Footprint const&, Site);
  /// Declares bytes dead (a released stage): a read before the next write is stale.
  void give_up(Lanes, Footprint const&, Site);
  /// `of_cta`: one step for the threads of this CTA alone.
  Turn atomic(Lanes, Footprint const&, AtomicOrder, Site, bool of_cta = false);
  void read_registers(std::uint64_t begin, std::uint64_t end, Site);
  void write_registers(std::uint64_t begin, std::uint64_t end, Site);

  // --- order
  // ------------------------------------------------------------------------------------------------------------
  /// Executes bar.warp.sync; also the warp's reconvergence after an elected region where the op is one that orders
  /// memory.
  void warp_sync(Lanes, Site);
  void fence_proxy_async(Lanes, FenceSpace, Site);
  void fence_mbarrier_init(Lanes, Site);
  /// Executes fence.proxy.tensormap release: of the descriptors that these lanes wrote.
  void release_tensor_maps(Lanes, Site);
  /// Executes fence.proxy.tensormap acquire of one descriptor.
  void acquire_tensor_map(Lanes, Footprint const&, Site);
  /// Executes bar.sync id, threads (barrier 0 of all threads of the CTA when threads is 0).
  Turn barrier(int id, int threads, Lanes, Site);
  /// Executes bar.arrive.
  Turn barrier_arrive(int id, int threads, Lanes, Site);
  /// `relaxed` (barrier.cluster.arrive.relaxed) orders no access; waiting warps know that this warp has begun, and the
  /// mbarriers that its fence.mbarrier_init published.
  Turn cluster_arrive(Lanes, Site, bool relaxed = false);
  Turn cluster_wait(Lanes, Site);
  Turn dependents_launch(Lanes, Site);
  /// Executes griddepcontrol.wait.
  Turn dependencies_wait(Lanes, Site);
  /// Waits until the driver's condition holds (asked again whenever the scheduler looks; it must not change anything).
  Turn wait_until(bool (*condition)(void* context, std::uint64_t payload), void* context, std::uint64_t payload, Site);

  // --- mbarrier
  // ---------------------------------------------------------------------------------------------------------
  Turn mbarrier_init(Lanes one, MbarrierAddress, std::int64_t count, Site);
  Turn mbarrier_inval(Lanes one, MbarrierAddress, Site);
  /// Executes `count` arrivals by each lane.
  Turn arrive(Lanes, MbarrierAddress, std::int64_t count, Site, Scope = Scope::cta);
  /// Executes expect_tx and one arrival, by each lane.
  Turn arrive_expect_tx(Lanes, MbarrierAddress, std::int64_t bytes, Site, Scope = Scope::cta);
  Turn expect_tx(Lanes, MbarrierAddress, std::int64_t bytes, Site);
  Turn arrive_drop(Lanes, MbarrierAddress, Site);
  /// Executes the loop around try_wait.parity. `phase` is the number of the phase that must be the one just finished,
  /// where the driver knows it. By default each wait of a thread is for the phase after its last one.
  Turn wait_parity(Lanes, MbarrierAddress, std::uint32_t parity, Site, Scope = Scope::cta, std::int64_t phase = -2);
  /// Executes one try_wait; the turn's answer tells whether it passed.
  Turn test_parity(Lanes, MbarrierAddress, std::uint32_t parity, Site, Scope = Scope::cta);

  // --- asynchronous copies
  // ----------------------------------------------------------------------------------------------
  Turn copy_in(Lanes one, CopyIn const&, Site);
  Turn copy_out(Lanes one, CopyOut const&, Site);
  Turn peer_store(Lanes, PeerStore const&, Site);
  void bulk_commit(Lanes, Site);
  /// Leaves at most the `pending` youngest groups of these lanes open; `read` (.read): only their sources count.
  Turn bulk_wait(Lanes, int pending, bool read, Site);
  Turn cp_async(Lanes, AsyncCopy const&, Site);
  void cp_async_commit(Lanes, Site);
  Turn cp_async_wait(Lanes, int pending, Site);
  /// Executes cp.async.mbarrier.arrive(.noinc): each lane arrives when its earlier cp.async are done.
  Turn cp_async_arrive(Lanes, MbarrierAddress, bool noinc, Site);

  // --- wgmma
  // ------------------------------------------------------------------------------------------------------------
  void wgmma_fence(Site);
  Turn wgmma(Wgmma const&, Site);
  void wgmma_commit(Site);
  Turn wgmma_wait(int pending, Site);

  /// Executes setmaxnreg.inc / .dec; the direction follows from the count where `increase` agrees, else it is reported.
  Turn set_max_registers(bool increase, std::uint32_t count, Site);

 private:
  [[nodiscard]] WarpState& begin(Site const&, Lanes);
  Turn turn(WarpState&);

  State* state_;
  int number_;
};

}  // namespace tegula::sim::machine
