// Defines the inside of the machine, shared by its source files; not for drivers.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "sim/machine/access.hpp"
#include "sim/machine/clock.hpp"
#include "sim/machine/machine.hpp"
#include "sim/machine/mbarrier.hpp"
#include "sim/machine/shadow.hpp"
#include "sim/machine/time.hpp"
#include "sim/machine/warp.hpp"

namespace tegula::sim::machine {

// Objects of `Touch`: numbers that do not depend on the order of a run, unlike slots.
inline constexpr std::uint64_t object_of(MbarrierAddress address) {
  return std::uint64_t{1} << 32 | static_cast<std::uint64_t>(address.cta) << 20 | address.offset;
}
inline constexpr std::uint64_t object_of_barrier = 0;     // a CTA's named barriers
inline constexpr std::uint64_t object_of_warp = 0x10000;  // a warp's groups
inline constexpr std::uint64_t object_of_pool = 0x20000;  // a CTA's registers
inline constexpr std::uint64_t object_of_cluster = 0x30000;
inline constexpr std::uint64_t object_of_condition = 0x40000;
inline constexpr std::uint64_t object_of_atomic = std::uint64_t{1} << 63;

enum class SpaceKind : std::uint8_t { shared, global, registers };

struct SpaceState {
  SpaceKind kind = SpaceKind::global;
  int owner = 0;  // CTA of shared memory, warp of registers
  Buffer buffer;  // name and size; the rest for global memory
  ShadowSpace shadow;
};

struct Named {
  Space space = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  std::string text;
};

/// Names an action of some lanes of a warp.
struct Instant {
  std::uint16_t warp = 0;
  Lanes lanes = 0;
  std::uint32_t time = 0;
  ActionSite site;
};

struct Mbarrier {
  MbarrierState state;
  MbarrierAddress address;
  Slot slot = no_slot;
  Clock pending;             // released by the arrivals of the phase under way
  Clock completed;           // released by those of the phase just finished
  Instant init;              // its lane
  Slot init_slot = no_slot;  // 1 for agents ordered after the init and its fence.mbarrier_init
  bool published = false;    // the initialising lane has executed that fence
  ActionSite inval;
  ActionSite last_arrival;
  Instant remote_pending;          // the last arrival or st.async of another CTA in the phase under way ...
  Instant remote_release;          // ... and in the phase just finished: its waits take the scope of the cluster
  std::vector<Instant> observers;  // waits that observed the phase just finished
  std::vector<Instant> users;      // last use per warp
  /// Counts, for each warp and lane, the phases needed by its last wait; -1: none.
  std::vector<std::array<std::int32_t, warp_lanes>> waited;
  bool counted_bytes = false;   // the phase under way counted bytes ...
  bool counted_before = false;  // ... and the one just finished did
  ActionSite counted_site;
  Time pending_time = 0;    // of the last arrival or byte in the phase under way
  Time completed_time = 0;  // when the phase just finished was known to waiting warps
};

enum class OpKind : std::uint8_t { copy_in, copy_out, cp_async, cp_arrive, wgmma };

struct Operation {
  OpKind kind = OpKind::copy_in;
  bool source_read = false;
  bool done = false;
  std::uint16_t warp = 0;
  Lanes lanes = 0;
  std::uint32_t serial = 0;  // count of the warp's operations
  std::int32_t mbarrier = -1;
  std::uint32_t bytes = 0;
  std::uint32_t phase = 0;   // of the mbarrier at issue
  std::uint32_t source = 0;  // records; 0: none
  std::uint32_t result = 0;
  std::uint32_t operands = 0;  // registers read
  Time read_time = 0;          // when its source has been read
  Time end_time = 0;
  Effect effect;
  ActionSite site;
};

/// Groups of one mechanism of one warp, in order of issue.
struct GroupQueue {
  static constexpr std::uint32_t uncommitted = UINT32_MAX;
  struct Member {
    std::uint32_t operation = 0;
    Lanes lanes = 0;
    std::uint32_t group = uncommitted;
  };
  struct Group {
    std::uint32_t number = 0;
    Lanes lanes = 0;         // that have not waited for it yet
    Lanes unread_lanes = 0;  // that have not waited for its sources yet
  };
  std::vector<Member> members;
  std::vector<Group> groups;
  std::uint32_t next = 0;
  void reset() {
    members.clear();
    groups.clear();
    next = 0;
  }
};

/// Names the order of an earlier access and a later one: unfenced is ordered, but not across the proxies.
enum class Order : std::uint8_t { ordered, unordered, unfenced };

/// Explains why a warp does not go on.
struct Blocked {
  enum class Kind : std::uint8_t { none, mbarrier, barrier, cluster, group, registers, condition };
  Kind kind = Kind::none;
  Lanes lanes = all_lanes;
  ActionSite site;
  int index = 0;  // mbarrier, barrier id, or mechanism
  std::uint32_t parity = 0;
  std::int64_t phase = 0;  // phases that must have completed
  int pending = 0;
  bool read = false;
  bool ready = false;  // barriers: the use completed
  Scope scope = Scope::cta;
  std::uint32_t amount = 0;  // registers
  Time time = 0;             // barriers: when the use completed
  bool (*condition)(void*, std::uint64_t) = nullptr;
  void* context = nullptr;
  std::uint64_t payload = 0;
};

struct WarpState {
  int number = 0;
  int cta = 0;
  int index = 0;  // in the CTA
  WarpClocks clocks;
  Body body;
  Task task;
  std::unique_ptr<Program> program;
  bool finished = false;
  bool visible = false;  // the step was a schedule point
  Touch touched;
  Blocked blocked;
  GroupQueue bulk, cp, wgmma;
  std::vector<std::uint32_t> handed;  // records of the last data that it sent, one per mbarrier
  std::uint32_t wgmma_fence = 0;
  std::uint32_t registers = 0;
  std::uint32_t operations = 0;
  std::uint32_t wgmma_count = 0;
  std::uint32_t cluster_arrivals = 0;
  std::uint32_t cluster_waits = 0;
  ActionSite cluster_arrival;      // the last one
  std::uint32_t relaxed_time = 0;  // of its last relaxed arrival at the cluster barrier, which was for this use
  std::uint32_t relaxed_use = 0;
  Time now = 0;
  Time product_time = 0;  // when the tensor core ends its last product
  Time cp_time = 0;       // when its last cp.async ends
  ActionSite last_site;
  ActionSite last_setmaxnreg;
  Space register_space = 0;
};

struct NamedBarrier {
  Slot slot = no_slot;
  std::uint32_t uses = 0;  // completed
  int expected = 0;
  int arrived = 0;
  Clock pending;
  Time time = 0;                 // of the last arrival in the use under way
  std::vector<Instant> present;  // in the use under way
  std::vector<int> waiting;      // warps to wake
};

/// Records a use of another CTA's shared memory.
struct RemoteUse {
  Instant by;
  std::uint32_t record = 0;  // of a copy or a store that an mbarrier there counts, which ends with the phase; 0: none
};

struct CtaState {
  std::array<NamedBarrier, 16> barriers;
  std::vector<std::int32_t> mbarrier_at;  // by offset / 8: index or -1
  std::vector<std::uint32_t> live;        // offsets of live mbarriers, sorted
  std::vector<std::byte> bytes;
  std::vector<int> warps;
  std::vector<RemoteUse> remote;  // the last ones of each warp of another CTA
  std::uint64_t free_registers = 0;
  int running = 0;
  Space space = 0;
  Units units;
};

struct ClusterState {
  Slot slot = no_slot;           // completed uses of its barrier: known to warps that waited, relaxed or not
  std::uint32_t generation = 0;  // the same number
  int arrived = 0;
  int alive = 0;
  Clock pending;
  Clock completed;
  Time pending_time = 0;
  Time completed_time = 0;
  Time end_time = 0;  // of its last warp
  std::vector<int> warps;
};

/// Records an acquire of a tensor map that lies in global memory.
struct MapAcquire {
  Space space = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Instant instant;
};

/// Explains why a warp cannot go on at a deadlock. The highest weight is the likeliest cause of the others.
struct Stuck {
  ReportKind kind = ReportKind::deadlock;
  int weight = 0;
  std::string note;  // "waits at x.cpp:3 for ..."
  std::string why;
};

/// Holds the machine's state and rules. Members are grouped by the file that defines them.
struct State {
  explicit State(Options);

  Options options;
  CostModel const* costs = nullptr;
  Time begin_time = 0;
  SlotTable slots;
  Slot preceding_slot = no_slot;
  std::vector<std::unique_ptr<WarpState>> warp_storage;
  std::vector<WarpState*> warps;
  std::vector<WarpState*> active;    // started and not ended, by number
  std::size_t started_clusters = 0;  // clusters
  std::vector<CtaState> ctas;
  std::vector<ClusterState> clusters;
  std::vector<std::unique_ptr<SpaceState>> spaces;
  std::vector<Named> names;
  std::vector<AccessRecord> records;
  ReadLists reads;
  std::vector<std::unique_ptr<Mbarrier>> mbarrier_storage;
  std::vector<Mbarrier*> mbarriers;
  std::vector<Slot> signalled;  // slots of mbarriers
  std::vector<Operation> operations;
  std::vector<std::uint32_t> free_operations;
  std::vector<std::uint32_t> in_flight;  // in order of issue
  std::vector<Candidate> candidates;
  std::vector<MapAcquire> acquires;
  std::vector<Instant> releases;                     // of tensor maps
  std::unordered_map<std::uint64_t, Clock> atomics;  // by space and offset
  Outcome outcome;
  std::unordered_set<std::uint64_t> seen;  // reports by kind and places
  Touch operation_touch;
  bool stop = false;

  // machine.cpp
  void reset();
  WarpState& add_warp(int cta);
  void run(Chooser&);
  void start_clusters(std::size_t count, Time time);
  void collect();
  void execute(Candidate const&, Touch&);
  void step_warp(WarpState&);
  void finish(WarpState&);
  void note_step(Candidate const&, ActionSite const& started);

  // time.cpp
  static Time clocks_for(double bytes, double per_clock);
  /// Returns the time when a warp that can go on goes on.
  [[nodiscard]] Time ready_time(WarpState const&) const;
  [[nodiscard]] Time groups_time(WarpState const&, Blocked const&) const;
  /// Sets the times of an operation that begins now. `product`: clocks of the tensor core.
  void time_operation(WarpState&, Operation&, double bytes, Time product);

  // order.cpp
  /// Each lane of `observing` knows the time of `lanes` of warp `of` in the plane: of each of them, or (any) of one.
  [[nodiscard]] bool knows(WarpState const&, Lanes observing, int of, Lanes lanes, std::uint32_t time, Plane,
                           bool any) const;
  [[nodiscard]] bool knows(WarpState const& w, Lanes observing, Instant const& instant) const {
    return knows(w, observing, instant.warp, instant.lanes, instant.time, Plane::order, true);
  }
  [[nodiscard]] bool knows_slot(WarpState const&, Lanes observing, Slot, std::uint32_t time,
                                Plane = Plane::order) const;
  [[nodiscard]] Order order(AccessRecord const& earlier, std::uint32_t code, WarpState const&, Lanes observing,
                            Proxy next, Plane) const;
  /// Orders an action after an asynchronous access by the waits of its warp.
  [[nodiscard]] Order order_by_wait(AccessRecord const& earlier, std::uint32_t code, WarpState const&, Lanes observing,
                                    bool needs_fence, Plane) const;

  // access.cpp
  std::uint32_t new_record(WarpState const&, Lanes, ActionSite const&, Proxy, Mechanism, bool write);
  void touch(WarpState&, Lanes, Footprint const&, std::uint32_t record);
  /// Tells whether all bytes lie in the space; reports the first ones that do not.
  bool check_inside(WarpState const&, Lanes, SpaceState const&, Footprint const&, ActionSite const&);
  void touch_registers(WarpState&, Footprint const&, std::uint32_t record, bool reads_old);
  void give_up(WarpState&, Lanes, Footprint const&, std::uint32_t record);
  void check_shared(WarpState&, Lanes, SpaceState const&, Footprint const&, std::uint32_t record);
  /// Notes a use of another CTA's shared memory; `record` of an access that an mbarrier counts, else 0.
  void note_remote(CtaState&, WarpState const&, Lanes, ActionSite const&, std::uint32_t record);
  void check_tensor_map(WarpState&, Lanes, Footprint const&, std::uint32_t record);
  /// Checks that the kernel's last write of a tensor map was released before these lanes acquire it.
  void check_released(WarpState&, Lanes, Footprint const&, ActionSite const&);

  // explain.cpp
  [[nodiscard]] std::string describe(Space, std::uint64_t begin, std::uint64_t end) const;
  [[nodiscard]] std::string describe(Mbarrier const&) const;
  [[nodiscard]] std::string agent_text(int warp, Lanes) const;
  [[nodiscard]] Side side(AccessRecord const&, std::uint32_t code, Space, std::uint64_t begin, std::uint64_t end) const;
  [[nodiscard]] Side side(WarpState const&, Lanes, std::string access, ActionSite const&) const;
  /// Returns false if a report of this kind and these places was made before, or the limit is reached.
  bool first(ReportKind, ActionSite const&, ActionSite const&);
  void add(ReportKind, std::string sentence, Side earlier, Side later, bool fatal = false);
  /// Tells whether a cluster barrier stands between, at which the earlier access' warp arrived relaxed.
  [[nodiscard]] bool met_relaxed(AccessRecord const& earlier, WarpState const&, Lanes observing) const;
  /// Says what is missing between two accesses: an earlier ordinary one, or an asynchronous one.
  [[nodiscard]] std::string missing_fence(AccessRecord const& earlier, AccessRecord const& later, Space) const;
  [[nodiscard]] std::string missing_order(AccessRecord const& earlier, AccessRecord const& later, WarpState const&,
                                          Lanes observing) const;
  [[nodiscard]] std::string missing_wait(AccessRecord const& earlier, AccessRecord const& later) const;
  /// Tells whether some lane of a warp is known at that time.
  [[nodiscard]] bool knows_some_lane(WarpState const&, Lanes observing, int of, std::uint32_t time) const;
  void conflict(AccessRef earlier, AccessRef later, WarpState const&, Lanes observing, Order, Space,
                std::uint64_t begin, std::uint64_t end);
  void register_conflict(AccessRef earlier, AccessRef later, bool fence, Space, std::uint64_t begin, std::uint64_t end);

  // mbarriers.cpp
  Mbarrier* find(MbarrierAddress);
  [[nodiscard]] std::int32_t number_of(Mbarrier const&) const;
  /// Finds the live mbarrier for an action of these lanes; reports and returns null otherwise. `copy`: it is a copy's
  /// operand.
  Mbarrier* use(WarpState&, Lanes, MbarrierAddress, ActionSite const&, bool copy);
  /// Reports the use of an mbarrier that does not live. Null: none was ever there.
  void report_not_live(Mbarrier const*, WarpState const&, Lanes, MbarrierAddress, ActionSite const&);
  /// Checks that the init of an mbarrier is published to these lanes.
  void check_published(Mbarrier const&, WarpState const&, Lanes, ActionSite const&, bool same_thread);
  void fault(MbarrierFault, Mbarrier const&, WarpState const&, Lanes, ActionSite const&, std::string const& amount);
  /// Checks and effects around an arrival; `transition` is applied once per lane.
  void arrive(WarpState&, Lanes, MbarrierAddress, ActionSite const&, Scope, std::int64_t count, std::int64_t bytes,
              bool drop);
  /// Checks that a wait for the previous phase precedes an arrive. The wait must happen before the arrive, or before
  /// the waiting thread stored data to a peer for which these lanes have waited.
  void check_observed(WarpState&, Lanes, Mbarrier const&, ActionSite const&);
  /// Keeps the record of data that a warp sends to a peer, or copies by cp.async for an mbarrier.
  void hand(WarpState& w, std::uint32_t record) const;
  /// Tells whether such data that a warp sent after its wait are known to these lanes.
  [[nodiscard]] bool came_after(WarpState const&, Lanes, Instant const& wait) const;
  void after_transition(Mbarrier&);
  [[nodiscard]] bool wait_done(WarpState const&, Blocked const&) const;
  void pass_wait(WarpState&, Blocked const&);
  [[nodiscard]] std::array<std::int32_t, warp_lanes>& wait_history(WarpState const&, Mbarrier&);
  void note_wait(WarpState const&, Lanes, Mbarrier&, std::int64_t phases);
  /// Phases that must have completed for this wait, from the waits of these lanes before; the wait is noted.
  /// Describes the wait of these lanes for a phase of that parity.
  [[nodiscard]] Blocked wait_for(Lanes, MbarrierAddress, std::uint32_t parity, ActionSite const&, Scope);
  [[nodiscard]] std::int64_t needed_phase(WarpState&, Lanes, Mbarrier&, std::uint32_t parity, ActionSite const&);

  // asynchronous.cpp
  std::uint32_t new_operation(WarpState&, OpKind, Lanes, ActionSite const&, Effect const&);
  [[nodiscard]] bool may_advance(Operation const&) const;
  void advance(std::uint32_t operation);
  /// Counts the bytes of a copy on its mbarrier.
  MbarrierFault count_bytes(Operation const&, Mbarrier&);
  /// Arrives at an mbarrier for the cp.async copies of these lanes so far.
  MbarrierFault arrive_for_copies(Operation const&, Mbarrier&);
  /// Says that an access is over once the phase under way of an mbarrier is.
  void signal(std::uint32_t record, Operation const&, Mbarrier const&);
  GroupQueue& queue(WarpState&, Mechanism);
  void commit(WarpState&, Mechanism, Lanes, ActionSite const&);
  [[nodiscard]] bool groups_done(WarpState const&, Blocked const&) const;
  void pass_groups(WarpState&, Blocked const&);
  void free_operation(std::uint32_t operation);
  void enqueue(WarpState&, Mechanism, std::uint32_t operation);
  void check_copy(WarpState const&, Lanes, Footprint const& shared, Footprint const& global, std::uint32_t alignment,
                  std::uint32_t bytes, ActionSite const&);

  // barriers.cpp
  void barrier(WarpState&, int id, int threads, Lanes, ActionSite const&, bool waits);
  /// Ends a use of a barrier at which all have arrived. `last`: the warp that came last, if it waits.
  void complete(NamedBarrier&, WarpState* last);
  void complete_cluster_if_ready(ClusterState&);

  // blocking.cpp
  [[nodiscard]] bool can_resume(WarpState const&) const;
  /// Resumes a warp when the condition of w.blocked holds: its effects, then the warp is free.
  void resume(WarpState&);
  void block(WarpState&, Blocked&&);

  // exit.cpp
  void deadlock();
  [[nodiscard]] Stuck stuck(WarpState const&) const;
  void check_exit();
  void check_mbarriers_at_exit();
  void check_groups_at_exit();
  void check_warpgroups_at_exit();
  void check_cta_exit(CtaState&);
};

}  // namespace tegula::sim::machine
