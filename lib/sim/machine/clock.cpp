#include "sim/machine/clock.hpp"

#include <algorithm>
#include <bit>
#include <utility>

namespace tegula::sim::machine {
namespace {

constexpr Plane async_planes[] = {Plane::shared_async, Plane::global_async};

}  // namespace

void Clock::join(Clock const& other) {
  std::size_t const common = std::min(times_.size(), other.times_.size());
  for (std::size_t i = 0; i < common; ++i) times_[i] = std::max(times_[i], other.times_[i]);
  times_.insert(times_.end(), other.times_.begin() + static_cast<std::ptrdiff_t>(common), other.times_.end());
}

void Clock::promote(Plane plane) {
  std::size_t const offset = static_cast<std::size_t>(plane);
  for (std::size_t i = 0; i < times_.size(); i += plane_count)
    times_[i + offset] = std::max(times_[i + offset], times_[i]);
}

void WarpClocks::reset(Slot warp_slot) {
  slot_ = warp_slot;
  time_ = 0;
  lane_slots_.fill(no_slot);
  if (classes_.empty()) classes_.resize(2);
  count_ = 1;
  classes_[0].lanes = all_lanes;
  classes_[0].clock.clear();
  classes_[0].fenced = {};
}

WarpClocks::LaneClass const& WarpClocks::class_of(int number) const {
  for (std::size_t i = 0; i < count_; ++i) {
    if ((classes_[i].lanes & lane(number)) != 0) return classes_[i];
  }
  return classes_[0];
}

void WarpClocks::split(Lanes lanes) {
  for (std::size_t i = 0, before = count_; i < before; ++i) {
    Lanes const inside = classes_[i].lanes & lanes;
    if (inside == 0 || inside == classes_[i].lanes) continue;
    if (count_ == classes_.size()) classes_.emplace_back();
    LaneClass& rest = classes_[count_++];
    rest.lanes = classes_[i].lanes & ~lanes;
    rest.clock = classes_[i].clock;
    rest.fenced = classes_[i].fenced;
    classes_[i].lanes = inside;
  }
}

template <class F>
void WarpClocks::for_classes(Lanes lanes, F&& f) {
  split(lanes);
  for (std::size_t i = 0; i < count_; ++i) {
    if ((classes_[i].lanes & lanes) != 0) f(classes_[i]);
  }
}

void WarpClocks::acquire(Lanes lanes, Clock const& from) {
  for_classes(lanes, [&](LaneClass& c) { c.clock.join(from); });
}

void WarpClocks::acquire(Lanes lanes, Slot slot, std::uint32_t time) {
  for_classes(lanes, [&](LaneClass& c) { c.clock.raise(Plane::order, slot, time); });
}

void WarpClocks::join_others(Clock const& from, Clock& into) const {
  constexpr Plane planes[] = {Plane::order, Plane::shared_async, Plane::global_async, Plane::waits};
  for (Slot slot = 0; slot < static_cast<Slot>(from.slots()); ++slot) {
    bool const own = slot == slot_ || std::find(lane_slots_.begin(), lane_slots_.end(), slot) != lane_slots_.end();
    for (Plane plane : planes)
      if (!own || plane == Plane::waits) into.raise(plane, slot, from.at(plane, slot));
  }
}

void WarpClocks::release(Lanes lanes, Clock& into, SlotTable& slots, bool relaxed) {
  auto const own_actions = [&](Slot slot, std::array<std::uint32_t, plane_count> const& fenced) {
    into.raise(Plane::waits, slot, time_);
    if (relaxed) return;
    into.raise(Plane::order, slot, time_);
    for (Plane plane : async_planes) into.raise(plane, slot, fenced[static_cast<std::size_t>(plane)]);
  };
  std::array<std::uint32_t, plane_count> min;
  min.fill(UINT32_MAX);
  for (std::size_t i = 0; i < count_; ++i) {
    if ((classes_[i].lanes & lanes) == 0) continue;
    if (relaxed)
      join_others(classes_[i].clock, into);
    else
      into.join(classes_[i].clock);
    for (std::size_t p = 0; p < plane_count; ++p) min[p] = std::min(min[p], classes_[i].fenced[p]);
  }
  if (lanes == all_lanes) own_actions(slot_, min);
  for (std::size_t i = 0; i < count_; ++i) {
    LaneClass const& c = classes_[i];
    if (lanes == all_lanes && c.fenced == min) continue;  // the warp's slot says it all
    for (Lanes rest = c.lanes & lanes; rest != 0; rest &= rest - 1) {
      Slot& own = lane_slots_[static_cast<std::size_t>(std::countr_zero(rest))];
      if (own == no_slot) own = slots.make();
      own_actions(own, c.fenced);
    }
  }
}

void WarpClocks::synchronise(Lanes lanes, SlotTable& slots) {
  scratch_.clear();
  release(lanes, scratch_, slots);
  split(lanes);
  LaneClass* merged = nullptr;
  for (std::size_t i = 0; i < count_;) {
    LaneClass& c = classes_[i];
    if ((c.lanes & lanes) == 0) {
      ++i;
    } else if (merged == nullptr) {
      merged = &c;
      ++i;
    } else {
      merged->lanes |= c.lanes;
      for (std::size_t p = 0; p < plane_count; ++p) merged->fenced[p] = std::min(merged->fenced[p], c.fenced[p]);
      std::swap(c, classes_[--count_]);  // merged stands before c, so it stays where it is
    }
  }
  if (merged != nullptr) merged->clock.join(scratch_);
}

void WarpClocks::fence(Lanes lanes, Plane plane, std::vector<Slot> const& signalled) {
  for_classes(lanes, [&](LaneClass& c) {
    c.fenced[static_cast<std::size_t>(plane)] = time_;
    for (Slot slot : signalled) c.clock.promote(plane, slot);
  });
}

void WarpClocks::fence_all_known(Lanes lanes, Plane plane) {
  for_classes(lanes, [&](LaneClass& c) {
    c.fenced[static_cast<std::size_t>(plane)] = time_;
    c.clock.promote(plane);
  });
}

}  // namespace tegula::sim::machine
