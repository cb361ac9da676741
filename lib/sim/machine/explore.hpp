// Runs one program many times: sweeps over kinds of schedules, and all schedules of a small program.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "sim/machine/machine.hpp"

namespace tegula::sim::machine {

/// Registers buffers, names and warps of one launch; called before each run.
using Build = std::function<void(Machine&)>;

/// Holds the findings of a sweep.
struct Sweep {
  std::uint64_t runs = 0;
  std::uint64_t steps = 0;
  /// Holds the outcomes that were not clean, at most `kept` of them; `bad_runs` counts them all.
  std::vector<Outcome> bad;
  std::uint64_t bad_runs = 0;
  bool complete = true;  // exhaust: all schedules were tried

  [[nodiscard]] bool clean() const { return bad_runs == 0; }
  [[nodiscard]] bool has(ReportKind kind) const {
    for (Outcome const& outcome : bad) {
      if (outcome.has(kind)) return true;
    }
    return false;
  }
  /// Prints the first report of the first bad outcome, or "clean".
  [[nodiscard]] std::string text() const;
};

/// Runs a program again and again. Storage is kept between the runs.
class Simulation {
 public:
  Simulation(Options options, Build build) : machine_(options), build_(static_cast<Build&&>(build)) {}

  Outcome run(Schedule const&);
  /// Runs `latest`, `earliest`, both with three seeds, each warp starved, then seeds 1 .. seeds. Stops after the first
  /// bad run if asked to.
  Sweep sweep(std::uint64_t seeds, bool stop_at_first = true);
  /// Tries every order of transitions that do not commute (depth first, sleep sets), up to max_runs runs.
  Sweep exhaust(std::uint64_t max_runs, bool stop_at_first = true);

  [[nodiscard]] Machine& machine() { return machine_; }

 private:
  bool keep(Sweep&, Outcome&&, bool stop_at_first);

  Machine machine_;
  Build build_;
  int warps_ = 0;
};

}  // namespace tegula::sim::machine
