// Finds pairs of accesses that nothing orders, the threads that must meet, and the latest place to meet.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <string>
#include <vector>

#include "analysis/shared_accesses.hpp"
#include "analysis/uniformity.hpp"

namespace tegula::analysis {

/// Names an access that some thread may make before another thread's earlier one is over; one of them writes.
struct Hazard {
  Access const* earlier = nullptr;
  Access const* later = nullptr;
  Level level = Level::none;
  ir::Op const* before = nullptr;  ///< the op that the threads must meet before; null: they cannot meet between the two
  ir::Op const* turn = nullptr;    ///< the earlier access belongs to an earlier iteration of it; null: of none
  ir::Op const* found_in = nullptr;  ///< the outermost loop that had been followed for one iteration; null: none

  [[nodiscard]] HazardKind kind() const { return hazard_kind(*earlier, *later).value(); }
};

/// Names ordinary accesses that the asynchronous proxy may not see in their order. The threads that made them owe a
/// fence before each of these ops, which hand the bytes over.
struct MissingFence {
  Access const* earlier = nullptr;
  Access const* later = nullptr;
  std::vector<ir::Op const*> before;
};

/// Lists the accesses that calls of a function leave to their callers.
struct CallSummary {
  std::vector<Access const*> first;  ///< that may meet what came before the call
  std::vector<Access const*> last;   ///< that may meet what comes after it
  bool meets = false;                ///< all threads of the group meet inside, on every path
};

/// Follows one function's control flow with the accesses that may still be unordered. Hazards are found
/// - between threads of one group: the CTA, or a replica of a partition;
/// - between accesses before, inside and after warp_specialize;
/// - between replicas, for ordinary accesses to shared memory.
///
/// Accesses that an mbarrier, a bulk wait or a wait for wgmma already orders are not hazards:
///
///   - A copy in counts on its mbarrier, so it is over for every thread that waits for it. If one lane waits,
///     the copy counts as written by that lane.
///   - A copy out is over, for its lane, at the bulk_wait that counts its group; a product, for its warp, at the
///     wgmma_wait; cp.async, for its thread, at the cp_async_wait.
///   - An arrival at an mbarrier after an access, by the threads that made it, and a wait for that mbarrier order it.
///     The protocol ensures that the wait is for the phase of the arrival, and orders partitions that hand data to each
///     other. A lane, or threads in a fill, that wait for one of several mbarriers know it of the buffers that they fill
///     after the wait.
///   - A copy into a buffer that a wait finds over came after the copies out of the same bytes.
///   - The cluster's barrier orders accesses before a releasing arrive and after the wait. A relaxed arrive orders
///     only the initialisation of mbarriers.
///   - Barriers with purpose = schedule order nothing.
class Hazards {
 public:
  Hazards(ir::Function const& function, Uniformity const& uniformity, Uniformity const& replica_uniformity);

  /// Finds the first hazard in the order of the text that a barrier can close. It names accesses which this object
  /// holds.
  std::optional<Hazard> first() &;
  /// Lets `close` put a barrier before the op that each hazard names, and goes on from there, until none is left or it
  /// returns null.
  using Close = std::function<ir::Op const*(Hazard const&)>;
  void close_all(Close const& close);
  /// Tells whether no hazard is left that a barrier can close.
  bool none() { return !first(); }
  /// Finds the first access through the asynchronous proxy, in the order of the text, that lacks a fence. Such an
  /// access follows an ordinary one of the same bytes. In a ring between partitions, finds the first release without a
  /// fence.
  std::optional<MissingFence> first_without_fence() &;
  /// Summarises the accesses that the function leaves to its callers, in its own shared memory and parameters. Requires
  /// that its own hazards are closed.
  CallSummary summary();

  [[nodiscard]] SharedAccesses& accesses() { return accesses_; }
  /// Counts the warps that run the function's body.
  [[nodiscard]] int warps() const { return warps_; }

 private:
  /// Holds an access that is over or under way, and the threads that know of it.
  struct Pending {
    Access const* access = nullptr;  ///< null: one made before the function was called
    ir::Op const* turn = nullptr;    ///< the outermost loop of which it belongs to an earlier iteration
    bool just_before = false;        ///< to the one right before, and to the last ones of loops inside `turn`
    Level known = Level::none;       ///< the threads that know it is over
    bool open = false;               ///< still under way, after so many commits at least and at most
    int min_age = 0, max_age = 0;
    ir::Op const* ended = nullptr;       ///< the wait that saw it end; null: it was no copy
    ir::Op const* ended_turn = nullptr;  ///< as `turn`, of that wait
    ir::Op const* passed = nullptr;      ///< the if or for that was passed by on each path that it is left on
    bool outside = false;                ///< made before or after this partition, by other groups of threads
    /// mbarriers at which its threads arrived since; null: the cluster's barrier.
    std::set<ir::Op const*> released;
    std::int64_t acquired = Access::not_elected;  ///< the elected lane that has waited for such an arrival

    // For fences: a fence by the threads of the access, and the threads that know of it. Only where fences are looked
    // for, also the ops that hand the access over, before which a fence can come.
    bool fenced = false;
    Level fence_known = Level::none;
    std::set<ir::Op const*> fence_released;
    std::int64_t fence_acquired = Access::not_elected;
    std::set<ir::Op const*> met_warp, met_warpgroup, met_group;
    std::map<ir::Op const*, std::set<ir::Op const*>> arrived;  ///< by mbarrier of `released`
    std::set<ir::Op const*> acquired_from;                     ///< the ones that `acquired` waited for

    /// Identifies a pending access; states hold one of each identity. Accesses that are known to be over to different
    /// threads stay apart. They may still need a fence, and the others a barrier.
    using Identity =
        std::tuple<Access const*, ir::Op const*, bool, bool, bool, ir::Op const*, ir::Op const*, Level, std::int64_t>;
    [[nodiscard]] When when() const { return {turn, just_before}; }
    [[nodiscard]] Identity identity() const {
      return {access, turn, just_before, open, outside, ended, ended_turn, known, acquired};
    }
    /// Joins another path's facts about the same access; true if they add any.
    bool merge(Pending const& other);
  };
  using State = std::vector<Pending>;
  struct Context {
    int warps = 1;
    ir::Block const* partition = nullptr;
    std::int64_t replicas = 1;
  };

  void start();
  void block(ir::Block const& ops, State& state);
  /// Returns the barrier that closes the hazard found before this op; null: there is none, or a later iteration of a
  /// loop found it.
  ir::Op const* closed(ir::Op const* before);
  /// Takes loops inside `region` as not yet followed.
  void forget_loop_states(ir::Op const& region);
  void op(ir::Op const& op, State& state);
  /// Follows an op whose warps exchange bytes.
  void exchange(ir::Op const& op, Access const& scratch, State& state);
  /// Orders accesses by the op's rule. Tells whether the op leaves accesses of its own.
  bool order(ir::Op const& op, State& state);
  /// Adds the accesses that the op leaves.
  void leave_pending(ir::Op const& op, State& state);
  void loop(ir::Op const& op, State& state);
  void branch(ir::Op const& op, State& state);
  /// Returns the state at the end of an iteration as the next one sees it.
  static State in_next_iteration(State state, ir::Op const& loop);
  /// Enters the then block of an if, or a for. Erases accesses that are left only if another control op was skipped,
  /// and that op would be entered here, too.
  void take(ir::Op const& control, State& state);
  /// Tells whether the access was made only where `control` is entered, too. It was made in `control`, if its condition
  /// has not changed since, or in another region whose condition implies that.
  bool entered_with(Pending const& pending, ir::Op const& control);
  /// Goes past an if by its else block, or past a for without an iteration. Erases accesses that are not made then.
  void pass(ir::Op const& control, State& state);
  void partitions(ir::Op const& op, State& state);
  void call(ir::Op const& op, State& state);
  void access(Access const& access, ir::Op const& at, State& state);
  /// Keeps an access that may meet one made before the call, for a summary.
  void expose(Access const& access);
  /// Reports the hazards of an access and an earlier one that is over.
  void access_after(Pending const& pending, Access const& later, ir::Op const& at);
  void barrier(ir::Op const& op, State& state);
  void meet(Level level, ir::Op const& at, State& state);
  void cluster_arrive(ir::Op const& op, State& state);
  void cluster_wait(State& state);
  /// Tells whether the threads at hand can order the access. Threads of one partition do not order accesses of threads
  /// that ran before it.
  [[nodiscard]] bool concerned(Pending const& pending) const {
    return !pending.open && !(pending.outside && context_.partition != nullptr);
  }
  /// Erases accesses that all threads of the group know to be over.
  void forget_known(State& state) const;
  void fence(ir::Op const& op, State& state);
  void access_by_proxy(Access const& access, ir::Op const& at, State& state);
  /// Returns the threads that must know of the fence between an ordinary access and one through the asynchronous proxy;
  /// nothing: it needs none.
  std::optional<Level> fence_level(Pending const& pending, Access const& later);
  /// Lists the places before which a fence for that level is missing.
  [[nodiscard]] static std::set<ir::Op const*> missing_fences(Pending const& pending, Access const& later, Level level,
                                                              ir::Op const& at);
  /// Finds the access of another partition, which waits for that mbarrier, that takes the bytes over through its proxy.
  Access const* taken_over(Access const& access, ir::Op const& mbarriers);
  void wait(ir::Op const& op, State& state);
  void mbarrier_wait(ir::Op const& op, State& state);
  /// Tells whether a wait of all threads for that mbarrier shows that the access is over for each of them.
  bool over_at_wait(ir::Op const& wait, Pending const& pending, ir::Op const& mbarriers);
  void arrive(ir::Op const& op, State& state);
  /// Marks an access as released at an mbarrier. `own`: by its own threads.
  void release(Pending& pending, ir::Op const& barrier, ir::Op const& arrival, bool own);
  static void commit(ir::Op const& op, State& state);
  static void age(Completion group, State& state, std::int64_t elected);
  /// Joins the states of two paths; true if the state grew.
  static bool add(State& state, Pending const& pending);
  static bool join(State& into, State const& other);
  static State joined(State const& a, State const& b);
  void report(Pending const& earlier, Access const& later, ir::Op const& at, Level level);
  [[nodiscard]] ir::Op const* meeting_point(ir::Op const& at, Pending const& earlier, Level level) const;
  [[nodiscard]] bool sealed(ir::Op const& region, Level level) const;
  CallSummary const& summary_of(ir::Op const& call);

  ir::Function const& function_;
  Uniformity const& uniformity_;
  Uniformity const& replica_uniformity_;
  int warps_ = 1;
  SharedAccesses accesses_;
  Context context_;
  std::optional<Hazard> found_;
  bool proxies_ = false;  ///< fences are looked for, not barriers
  std::optional<MissingFence> unfenced_;
  [[nodiscard]] bool stopped() const { return found_.has_value() || unfenced_.has_value(); }
  Close const* close_ = nullptr;
  std::vector<ir::Op const*> followed_;  ///< loops around the op at hand of which this is a later iteration
  /// Holds the states at the start and end of a loop's iterations, joined over all iterations of the loops around it so
  /// far.
  struct LoopStates {
    State start, end;
  };
  std::map<ir::Op const*, LoopStates> loop_states_;
  std::vector<Access const*>* exposed_ = nullptr;  ///< where a summary collects accesses that may meet earlier ones
  std::map<ir::Op const*, CallSummary> calls_;
};

/// Counts the warps of the groups that run a function's body: its own number, else that of the kernels that reach it.
int warps_of(ir::Function const& function);
/// Tells whether the function is called, itself or through others, inside warp_specialize.
bool runs_in_partitions(ir::Function const& function);

}  // namespace tegula::analysis
