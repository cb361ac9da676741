// Times programs on the host: each side of a comparison in processes of its own, in turns.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tegula::bench {

/// Holds the seconds of each run of both sides.
struct Pair {
  std::vector<double> ours, rival;
};

/// Runs a program's comparisons. Idle threads of OpenBLAS spin for long and take a core from whatever runs beside them,
/// and threads do not outlive a fork. So each turn of a side is this program again, with `--turn` in its arguments,
/// which skips everything else. Groups of comparisons, and comparisons within a group, are counted as they come.
class ComparisonRunner {
 public:
  /// Each side runs `rounds` times, in turn, for `budget` seconds each. `cpu_time`: processor time of all threads is
  /// counted in place of time.
  ComparisonRunner(double budget, int rounds, bool cpu_time) : budget_(budget), rounds_(rounds), cpu_time_(cpu_time) {}

  /// Says which turn this process is for: group, comparison, side. Nothing: it is for all.
  void want(std::vector<int> const& turn);
  [[nodiscard]] bool is_turn() const { return group_wanted_ >= 0; }

  /// Calls the body in a child process with these environment variables. Returns false if it fails.
  bool group(std::map<std::string, std::string> const& environment, std::function<void()> const& body);
  /// Passes over the next comparisons of the group. Returns false, and does nothing, if one of them is this process's
  /// turn or the process is for all: then they must be made.
  bool skip(int comparisons);
  /// Returns the times of both sides, and runs both once more here, for their results. Nothing in a process for another
  /// turn. Throws std::runtime_error if a side fails.
  std::optional<Pair> compare(std::function<void()> const& ours, std::function<void()> const& rival);

 private:
  [[nodiscard]] double now() const;
  void print_times(std::function<void()> const& run) const;
  [[nodiscard]] std::vector<double> times_of(int side) const;

  double budget_;
  int rounds_;
  bool cpu_time_;
  int group_wanted_ = -1, comparison_wanted_ = -1, side_wanted_ = 0;
  int group_ = -1, comparison_ = -1;
};

}  // namespace tegula::bench
