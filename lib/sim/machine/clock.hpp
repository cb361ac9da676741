// Implements vector clocks of the happens-before order, and the clocks of one warp's lanes.
//
// Slots. A warp has one slot (the time known of all its lanes). A lane that releases on its own gets another slot (the
// time known of that lane alone). So does every mbarrier (completed phases), every named barrier (completed uses) and
// the preceding grid. Time in the slots of a warp is the warp's own count of actions, so both kinds compare.
//
// Planes. `order` is happens-before. `shared_async` and `global_async` hold, for each slot, the time up to which
// accesses are visible to the async proxy. A proxy fence of the accessing thread, which itself happens before, makes
// them visible.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/machine/types.hpp"
#include "tegula/support/warp.hpp"

namespace tegula::sim::machine {

/// waits: what a thread has waited for, which relaxed arrivals release, too.
enum class Plane : std::uint8_t { order, shared_async, global_async, waits };
inline constexpr std::size_t plane_count = 4;

using Slot = std::int32_t;
inline constexpr Slot no_slot = -1;

/// Holds one time per slot and plane; slots never named are 0.
class Clock {
 public:
  [[nodiscard]] std::uint32_t at(Plane plane, Slot slot) const {
    std::size_t const i = index(plane, slot);
    return i < times_.size() ? times_[i] : 0;
  }
  void raise(Plane plane, Slot slot, std::uint32_t time) {
    std::size_t const i = index(plane, slot);
    if (i >= times_.size()) times_.resize(index(Plane::order, slot + 1), 0);
    if (times_[i] < time) times_[i] = time;
  }
  void join(Clock const& other);
  /// Raises the plane to `order` in every slot: a fence that covers everything known.
  void promote(Plane plane);
  /// Raises the plane to `order` in one slot.
  void promote(Plane plane, Slot slot) { raise(plane, slot, at(Plane::order, slot)); }
  /// Sets all times to zero; keeps the storage.
  void clear() { times_.clear(); }
  [[nodiscard]] std::size_t slots() const { return times_.size() / plane_count; }

 private:
  static std::size_t index(Plane plane, Slot slot) {
    return static_cast<std::size_t>(slot) * plane_count + static_cast<std::size_t>(plane);
  }
  std::vector<std::uint32_t> times_;
};

/// Hands out slot numbers.
class SlotTable {
 public:
  Slot make() { return next_++; }
  void reset() { next_ = 0; }

 private:
  Slot next_ = 0;
};

/// Holds the clocks of one warp's lanes. Lanes with equal clocks share a class. An action of a proper subset splits
/// classes, a warp barrier merges them. Usually there are one or two classes.
class WarpClocks {
 public:
  struct LaneClass {
    Lanes lanes = 0;
    Clock clock;
    std::array<std::uint32_t, plane_count> fenced{};  // time of these lanes' own last proxy fence, per plane
  };

  void reset(Slot warp_slot);

  /// Counts the actions of this warp; the time of the current action.
  [[nodiscard]] std::uint32_t time() const { return time_; }
  std::uint32_t tick() { return ++time_; }

  [[nodiscard]] Slot slot() const { return slot_; }
  /// Returns the lane's own slot, or no_slot if it never released alone.
  [[nodiscard]] Slot lane_slot(int number) const { return lane_slots_[static_cast<std::size_t>(number)]; }

  [[nodiscard]] std::size_t class_count() const { return count_; }
  [[nodiscard]] LaneClass const& lane_class(std::size_t i) const { return classes_[i]; }
  [[nodiscard]] LaneClass const& class_of(int number) const;

  /// Adds the clock `from` to these lanes' clocks.
  void acquire(Lanes, Clock const& from);
  /// Adds one slot to these lanes' clocks.
  void acquire(Lanes, Slot, std::uint32_t time);
  /// Adds the knowledge and the actions of these lanes up to now to `into`; relaxed: of their actions only what
  /// they waited for.
  void release(Lanes, Clock& into, SlotTable&, bool relaxed = false);
  /// Joins the clocks of these lanes at a barrier: each knows the actions and clocks of all of them.
  void synchronise(Lanes, SlotTable&);
  /// Makes the lanes' own accesses visible to the async proxy in the plane. `signalled` slots (mbarriers) are promoted
  /// too: data that arrived by cp.async on them was written by no thread that could have fenced.
  void fence(Lanes, Plane, std::vector<Slot> const& signalled);
  /// Does the same as fence, for all accesses that the lanes know of.
  void fence_all_known(Lanes, Plane);

 private:
  void split(Lanes);
  /// Joins what is known of other warps, and of this one the waits.
  void join_others(Clock const& from, Clock& into) const;
  template <class F>
  void for_classes(Lanes, F&&);

  Slot slot_ = no_slot;
  std::uint32_t time_ = 0;
  std::array<Slot, warp_lanes> lane_slots_{};
  std::vector<LaneClass> classes_;  // the first count_ are in use, the rest keep their storage
  std::size_t count_ = 0;
  Clock scratch_;
};

}  // namespace tegula::sim::machine
