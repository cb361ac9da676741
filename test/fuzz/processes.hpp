// Runs many small jobs in several processes. A job that crashes or hangs costs its own result alone.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

namespace tegula::fuzz {

struct JobResult {
  enum class End : std::uint8_t { returned, threw, died, took_too_long };
  std::uint64_t job = 0;
  End end = End::returned;
  std::string text;  ///< its result, the exception's text, or the signal that ended the process
};

struct ProcessOptions {
  int processes = 1;
  double seconds_per_job = 600;        ///< a process that works longer on one job is killed
  std::function<double()> clock = {};  ///< returns seconds; for tests
};

/// Calls `work` for jobs 0 to count - 1 in processes forked from this one. Calls `done` here for each result as it
/// comes, in any order. `go_on` is asked here several times a second; when it says no, jobs not yet begun are left out.
/// Returns how many jobs have ended. Call it before this process starts threads.
std::uint64_t run_in_processes(std::uint64_t count, ProcessOptions const& options,
                               std::function<std::string(std::uint64_t job)> const& work,
                               std::function<void(JobResult const&)> const& done,
                               std::function<bool()> const& go_on = {});

}  // namespace tegula::fuzz
