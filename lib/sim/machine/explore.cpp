#include "sim/machine/explore.hpp"

#include <algorithm>

namespace tegula::sim::machine {
namespace {

constexpr std::size_t kept = 4;

/// Searches choices depth-first by running again with a longer prefix. A transition that was tried at a node sleeps in
/// the nodes below its later siblings. A transition that does not commute with it wakes it: runs that would only swap
/// commuting neighbours are cut off.
class DepthFirst final : public Chooser {
 public:
  std::size_t choose(std::vector<Candidate> const& candidates) override {
    if (depth_ == path_.size()) {
      Node node;
      for (Candidate const& candidate : candidates) node.keys.push_back(candidate.key);
      if (depth_ > 0) {
        Node const& parent = path_[depth_ - 1];
        for (Asleep const& asleep : parent.sleep) {
          if (asleep.touch.commutes(parent.touch)) node.sleep.push_back(asleep);
        }
      }
      if (!next(node, 0)) return give_up;
      path_.push_back(std::move(node));
    }
    return path_[depth_].chosen;
  }

  void executed(Touch const& touch) override { path_[depth_++].touch = touch; }

  /// Moves on to the next untried schedule; false when there is none.
  bool advance() {
    depth_ = 0;
    while (!path_.empty()) {
      Node& node = path_.back();
      node.sleep.push_back({node.keys[node.chosen], node.touch});
      if (next(node, node.chosen + 1)) return true;
      path_.pop_back();
    }
    return false;
  }

 private:
  struct Asleep {
    std::uint64_t key = 0;
    Touch touch;
  };
  struct Node {
    std::vector<std::uint64_t> keys;
    std::vector<Asleep> sleep;
    std::size_t chosen = 0;
    Touch touch;
  };

  static bool next(Node& node, std::size_t from) {
    for (std::size_t i = from; i < node.keys.size(); ++i) {
      bool const sleeps =
          std::any_of(node.sleep.begin(), node.sleep.end(), [&](Asleep const& a) { return a.key == node.keys[i]; });
      if (sleeps) continue;
      node.chosen = i;
      return true;
    }
    return false;
  }

  std::vector<Node> path_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string Sweep::text() const {
  if (bad.empty()) return "clean";
  return bad.front().reports.empty() ? "abandoned" : bad.front().reports.front().text();
}

bool Simulation::keep(Sweep& sweep, Outcome&& outcome, bool stop_at_first) {
  if (outcome.abandoned) return true;  // repeats a run up to the order of commuting neighbours
  ++sweep.runs;
  sweep.steps += outcome.steps;
  if (outcome.reports.empty()) return true;
  ++sweep.bad_runs;
  if (sweep.bad.size() < kept) sweep.bad.push_back(std::move(outcome));
  return !stop_at_first;
}

Outcome Simulation::run(Schedule const& schedule) {
  machine_.reset();
  build_(machine_);
  warps_ = machine_.warp_count();
  return machine_.run(schedule);
}

Sweep Simulation::sweep(std::uint64_t seeds, bool stop_at_first) {
  Sweep sweep;
  auto const good = [&](Schedule const& schedule) { return keep(sweep, run(schedule), stop_at_first); };
  if (!good(Schedule::latest()) || !good(Schedule::earliest())) return sweep;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    if (!good(Schedule::latest(seed)) || !good(Schedule::earliest(seed))) return sweep;
  }
  for (int warp = 0; warp < warps_; ++warp) {
    if (!good(Schedule::starve(static_cast<std::uint64_t>(warp)))) return sweep;
  }
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    if (!good(Schedule::seed(seed))) return sweep;
  }
  return sweep;
}

Sweep Simulation::exhaust(std::uint64_t max_runs, bool stop_at_first) {
  Sweep sweep;
  DepthFirst search;
  do {
    if (sweep.runs == max_runs) {
      sweep.complete = false;
      return sweep;
    }
    machine_.reset();
    build_(machine_);
    if (!keep(sweep, machine_.run(search, {}), stop_at_first)) return sweep;
  } while (search.advance());
  return sweep;
}

}  // namespace tegula::sim::machine
