// Simulates CTAs with shared memory. Warps and asynchronous operations are agents; a checker of order runs beside them.
// The machine does not know the IR: a driver registers programs, and the programs act through the `Warp` handles
// (warp.hpp). lib/doc/memory_model.md states the rules that are checked.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "sim/machine/program.hpp"
#include "sim/machine/report.hpp"
#include "sim/machine/schedule.hpp"
#include "sim/machine/time.hpp"
#include "sim/machine/types.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::sim::machine {

/// Describes a launch.
struct Options {
  int ctas = 1;
  int cluster = 1;   // CTAs per cluster; ctas is a multiple of it
  int resident = 0;  // clusters that run at once, in order; 0: all. Others start as those end
  std::uint32_t shared_bytes = gpu_targets.front()->shared;  // per CTA
  std::uint32_t registers = 0;                               // per thread at entry; 0: setmaxnreg is not modelled
  std::uint64_t max_steps = 20'000'000;                      // schedule points before the run is called a livelock
  std::uint32_t max_reports = 16;                            // the run stops after so many
  bool trace = false;                                        // Outcome::trace says who did what at each step
  CostModel const* costs = nullptr;                          // of virtual time; null: each action takes one clock
};

/// Describes a global buffer before the kernel starts.
struct Buffer {
  std::string name;
  std::uint64_t bytes = 0;
  bool initialised = true;  // false: reading before a write of the kernel is an error
  bool read_only = false;   // accesses are not recorded; a write is an error
  bool preceding = false;   // written by a grid this one overlaps with: griddepcontrol.wait first
  bool constant = false;    // kernel parameter or constant memory: a tensor map in it needs no acquire
};

/// Holds the result of one run.
struct Outcome {
  std::vector<Report> reports;
  std::string schedule;                // replays this run
  std::vector<std::uint32_t> choices;  // the same as explicit choices, where there was more than one candidate
  std::uint64_t steps = 0;
  std::vector<std::string> trace;  // "93 warp 7: mbarrier_wait at gemm.cpp:33", if asked for
  bool abandoned = false;          // the chooser gave up; nothing was judged at exit
  Time end_time = 0;               // of the last warp, in clocks

  [[nodiscard]] bool clean() const { return reports.empty() && !abandoned; }
  [[nodiscard]] bool has(ReportKind kind) const {
    for (Report const& report : reports) {
      if (report.kind == kind) return true;
    }
    return false;
  }
  /// Prints all reports, blank lines between; "clean" if there is none.
  [[nodiscard]] std::string text() const;
};

struct State;

/// Simulates one launch. Register buffers and warps, then run once; reset() makes it ready for the next run and keeps
/// the storage.
class Machine {
 public:
  explicit Machine(Options);
  ~Machine();
  Machine(Machine&&) noexcept;
  Machine& operator=(Machine&&) noexcept;

  void reset();
  [[nodiscard]] Options const& options() const;
  /// Sets the clock at which the next run's first warps begin.
  void begin_at(Time);

  /// Adds a warp to a CTA; warps 4n .. 4n+3 of a CTA are its warpgroup n. Returns the warp's number in the machine,
  /// which is the one of `starve:`.
  int add_warp(int cta, Body);
  int add_warp(int cta, std::unique_ptr<Program> (*make)(void* context, Warp), void* context);

  Space add_buffer(Buffer);
  [[nodiscard]] int warp_count() const;
  [[nodiscard]] Space shared(int cta) const;
  [[nodiscard]] Space registers(int warp) const;
  /// Names an interval for reports. Later names win over earlier ones that hold them.
  void name(Space, std::uint64_t begin, std::uint64_t end, std::string);

  /// Returns the bytes of a CTA's shared memory, for the driver's use; 0xA5 at the start. The machine moves no data.
  [[nodiscard]] std::span<std::byte> shared_bytes(int cta);

  /// Runs to the end, to the first fatal report, or to the limits. Consumes the programs.
  Outcome run(Schedule const&);
  /// Does the same with the caller's chooser. `schedule_text` goes into the reports; empty: the choices made.
  Outcome run(Chooser&, std::string schedule_text);

 private:
  friend class Warp;
  std::unique_ptr<State> state_;
};

}  // namespace tegula::sim::machine
