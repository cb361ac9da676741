#pragma once
// Small programs for the machine: a place for values beside the shadow, and a ring of stages.

#include <coroutine>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/machine/explore.hpp"
#include "sim/machine/warp.hpp"
#include "support/catch.hpp"

namespace tegula::test {

using namespace tegula::sim::machine;

/// Tags the line that calls it.
inline ActionSite at(char const* op, location where = location::current()) { return ActionSite::at(op, 0, where); }

/// Holds values of a few cells and the copies between them: a test sees the values that an early or a late copy moved.
struct Cells {
  struct Move {
    int* to = nullptr;
    int const* from = nullptr;
  };
  std::vector<Move> moves;
  std::vector<int> held;  // between the two moments of a store

  void reset() {
    moves.clear();
    held.clear();
  }
  Effect move(int* to, int const* from) {
    moves.push_back({to, from});
    held.push_back(-1);
    return {[](void* context, std::uint64_t payload, Moment moment) {
              Cells& cells = *static_cast<Cells*>(context);
              Move const& m = cells.moves[payload];
              if (moment == Moment::read_source)
                cells.held[payload] = *m.from;
              else
                *m.to = cells.held[payload] >= 0 ? cells.held[payload] : *m.from;
            },
            this, moves.size() - 1};
  }
};

/// Gives each lane its own `each` bytes from `begin` on.
class PerLane {
 public:
  PerLane(Space space, std::uint64_t begin, std::uint64_t each) : space_(space) {
    for (std::uint32_t l = 0; l < 32; ++l) ranges_[l] = {begin + l * each, begin + (l + 1) * each, l};
  }
  operator Footprint() const { return Footprint(space_, ranges_); }  // NOLINT: reads as a footprint

 private:
  Space space_;
  LaneBytes ranges_[32];
};

inline constexpr Lanes leader = lane(0);

/// Holds the point of the schedule of an op that a test may have taken out. Without the op the coroutine goes on at
/// once.
class [[nodiscard]] MaybeTurn {
 public:
  MaybeTurn() = default;
  MaybeTurn(Turn) : taken_(true) {}  // NOLINT: reads as the turn
  [[nodiscard]] bool await_ready() const noexcept { return !taken_; }
  void await_suspend(std::coroutine_handle<>) const noexcept {}
  void await_resume() const noexcept {}

 private:
  bool taken_ = false;
};

}  // namespace tegula::test
