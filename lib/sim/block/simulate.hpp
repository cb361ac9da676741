// Runs a kernel's block IR on the CPU, warp by warp, under schedules. Reports errors of order: races, deadlocks, wrong
// byte counts, misused barriers (lib/doc/memory_model.md). The driver of sim/machine from IR: it gives each op its
// bytes and its values; the machine knows the rules. Kernels of tile ops with layouts run here too.
//
// The kernel must be verified (ir/verify/verifier.hpp). Tiles are fragments: each warp holds the elements that the
// layout gives its lanes.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "sim/block/executions.hpp"
#include "sim/interpreter.hpp"
#include "sim/machine/explore.hpp"

namespace tegula::sim::block {

struct Options {
  TargetInfo const* target = nullptr;  ///< that the kernel was lowered for; null: target::default_target
  std::optional<Grid> grid;            ///< in place of the kernel's own
  int cluster = 0;                     ///< CTAs per cluster; 0: as the kernel says
  std::optional<bool>
      dependent;      ///< a grid before this one may still write the tensors; by default if the kernel waits for one
  int resident = 16;  ///< clusters that run at once; the others start as those end; 0: all
  /// run() only: so many CTAs at a time, 0 for all at once. Batches run, each in a machine of its own, up to the first
  /// that is not clean. Accesses of CTAs of different batches are not compared. A multiple of the cluster.
  int batch = 0;
  Precision precision = Precision::exact;
  bool print = true;        ///< device_print writes to standard output
  bool same_values = true;  ///< sweeps compare what schedules leave in the tensors; false for sums in any order
  std::uint64_t max_steps = 20'000'000;
  std::uint32_t max_reports = 16;
  bool trace = false;
  bool timed = false;  ///< keeps virtual time by the target's costs
  /// Takes the bytes of the kernel's log after each run (tegula/abi/profile_format.hpp); null: nobody asks.
  std::vector<std::byte>* profile = nullptr;
  Executions* executions = nullptr;  ///< counts the ops that the runs execute
};

/// Holds the result of one run.
struct Result {
  std::vector<machine::Report> reports;  ///< of order, barriers and copies
  sim::Result values;                    ///< of indices and memory bounds; grid and ops executed
  std::string schedule;                  ///< replays the run
  std::uint64_t steps = 0;               ///< points of the schedule
  std::vector<std::string> trace;
  std::uint64_t clocks = 0;  ///< virtual time of the last warp's end

  [[nodiscard]] bool clean() const { return reports.empty() && values.clean(); }
  [[nodiscard]] bool has(machine::ReportKind kind) const;
  /// Prints all reports; "clean" if there is none.
  [[nodiscard]] std::string str() const;
};

/// Holds the results of many runs.
struct Sweep {
  std::uint64_t runs = 0;
  std::uint64_t steps = 0;
  std::uint64_t bad_runs = 0;
  bool complete = true;     ///< exhaust: all schedules were tried
  std::vector<Result> bad;  ///< some of the runs that were not clean
  std::string differing;    ///< an element that depends on the schedule; empty: none does

  [[nodiscard]] bool clean() const { return bad_runs == 0 && differing.empty(); }
  [[nodiscard]] bool has(machine::ReportKind kind) const;
  [[nodiscard]] std::string str() const;
};

/// Runs one launch repeatedly, each time from the same contents of its tensors. The kernel and the tensors' memory must
/// outlive it.
class Simulation {
 public:
  /// Throws UserError if arguments do not fit, a requirement fails, or the kernel has ops that warps cannot run.
  Simulation(ir::Function const& kernel, Arguments const& arguments, Options const& options = {});
  ~Simulation();
  Simulation(Simulation const&) = delete;
  Simulation& operator=(Simulation const&) = delete;

  Result run(machine::Schedule const& schedule);
  /// Runs `latest`, `earliest`, both with three seeds, each warp starved, then seeds 1 .. seeds.
  Sweep sweep(std::uint64_t seeds, bool stop_at_first = true);
  /// Tries every order of transitions that do not commute, up to max_runs runs. For small kernels.
  Sweep exhaust(std::uint64_t max_runs, bool stop_at_first = true);

 private:
  struct Inside;
  std::unique_ptr<Inside> inside_;
};

/// Runs one launch once; its results stay in the tensors.
Result run(ir::Function const& kernel, Arguments const& arguments,
           machine::Schedule const& schedule = machine::Schedule::seed(1), Options const& options = {});

}  // namespace tegula::sim::block
