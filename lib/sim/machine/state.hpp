// Inside of the machine, shared by its source files; not for drivers.
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
#include "sim/machine/warp.hpp"

namespace tegula::sim::machine {

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

/// A moment of some lanes of a warp.
struct Moment3 {
  std::uint16_t warp = 0;
  Lanes lanes = 0;
  std::uint32_t time = 0;
  Site site;
};

struct Mbarrier {
  MbarrierState state;
  MbarrierAddress address;
  Slot slot = no_slot;
  Clock pending;    // released by the arrivals of the phase under way
  Clock completed;  // released by those of the phase just finished
  Moment3 init;     // its lane
  std::uint32_t published = 0;  // time of the initialising lane's fence.mbarrier_init; 0: not yet
  Site inval;
  Site last_arrival;
  Moment3 remote_arrival;             // of the phase just finished or under way, with the weakest scope
  bool narrow_release = false;        // an arrival from another CTA had .cta scope in the phase just finished
  bool narrow_pending = false;        // ... in the phase under way
  std::vector<Moment3> observers;     // waits that observed the phase just finished
  std::vector<Moment3> users;         // last use per warp
  std::vector<std::array<std::int32_t, 32>> waited;  // per warp and lane: phases needed by its last wait; -1: none
  bool counted_bytes = false;         // the phase under way counted bytes ...
  bool counted_before = false;        // ... and the one just finished did
  Site counted_site;
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
  std::uint32_t operands = 0;      // registers read
  Effect effect;
  Site site;
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
    Lanes lanes = 0;        // that have not waited for it yet
    Lanes unread_lanes = 0; // that have not waited for its sources yet
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

/// Why a warp does not go on.
struct Blocked {
  enum class Kind : std::uint8_t { none, mbarrier, barrier, cluster, group, registers, condition };
  Kind kind = Kind::none;
  Lanes lanes = all_lanes;
  Site site;
  int index = 0;             // mbarrier, barrier id, or mechanism
  std::uint32_t parity = 0;
  std::int64_t phase = 0;    // phases that must have completed
  int pending = 0;
  bool read = false;
  bool ready = false;        // barriers: the use completed
  Scope scope = Scope::cta;
  std::uint32_t amount = 0;  // registers
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
  std::uint32_t wgmma_fence = 0;
  std::uint32_t registers = 0;
  std::uint32_t operations = 0;
  std::uint32_t wgmma_count = 0;
  std::uint32_t cluster_arrivals = 0;
  std::uint32_t cluster_waits = 0;
  Site last_site;
  Site last_setmaxnreg;
  Space register_space = 0;
};

struct NamedBarrier {
  Slot slot = no_slot;
  std::uint32_t uses = 0;  // completed
  int expected = 0;
  int arrived = 0;
  Clock pending;
  std::vector<Moment3> present;  // in the use under way
  std::vector<int> waiting;      // warps to wake
};

struct CtaState {
  std::array<NamedBarrier, 16> barriers;
  std::vector<std::int32_t> mbarrier_at;  // by offset / 8: index or -1
  std::vector<std::uint32_t> live;        // offsets of live mbarriers, sorted
  std::vector<std::byte> bytes;
  std::vector<int> warps;
  std::vector<Moment3> remote;  // last access of each warp of another CTA
  std::uint64_t free_registers = 0;
  int running = 0;
  Space space = 0;
};

struct ClusterState {
  std::uint32_t generation = 0;
  int arrived = 0;
  int alive = 0;
  Clock pending;
  Clock completed;
  std::vector<int> warps;
};

/// An acquire of a tensor map that lies in global memory.
struct MapAcquire {
  Space space = 0;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
  Moment3 moment;
};

/// The machine's state and rules. Members are grouped by the file that defines them.
struct State {
  explicit State(Options);

  Options options;
  SlotTable slots;
  Slot preceding_slot = no_slot;
  std::vector<std::unique_ptr<WarpState>> warp_storage;
  std::vector<WarpState*> warps;
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
  std::unordered_map<std::uint64_t, Clock> atomics;  // by space and offset
  std::vector<Moment3> unused_moments;
  Outcome outcome;
  std::unordered_set<std::uint64_t> seen;  // reports by kind and places
  Touch operation_touch;
  bool stop = false;

  // machine.cpp
  void reset();
  WarpState& add_warp(int cta);
  void collect();
  void execute(Candidate const&, Touch&);
  [[nodiscard]] bool can_resume(WarpState const&) const;
  void resume(WarpState&);
  void finish(WarpState&);

  // access.cpp
  std::uint32_t new_record(WarpState const&, Lanes, Site const&, Proxy, Mechanism, bool write);
  void touch(WarpState&, Lanes, Footprint const&, std::uint32_t record);
  void touch_registers(WarpState&, Footprint const&, std::uint32_t record);
  /// Each lane of `who` knows the time of these lanes of warp `of` (all of them, or any) in the plane.
  [[nodiscard]] bool knows(WarpState const&, Lanes who, int of, Lanes lanes, std::uint32_t time, Plane, bool any) const;
  [[nodiscard]] bool knows(WarpState const&, Lanes who, Moment3 const& moment, bool any = true) const {
    return knows(*warps[static_cast<std::size_t>(who == 0 ? 0 : w_index(moment))], 0, 0, 0, 0, Plane::order, any);
  }

  static int w_index(Moment3 const& m) { return m.warp; }
};

}  // namespace tegula::sim::machine
