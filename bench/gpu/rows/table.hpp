// Checks and times rows on one device, prints a table for each group, and keeps the data.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gpu/rows/row.hpp"
#include "rig/cublas.hpp"
#include "rig/result_file.hpp"
#include "rig/workload.hpp"

namespace tegula::bench {

class Table {
 public:
  Table(stream const& order, Cublas const* cublas, CoolClock const& clock, std::uint64_t seed, ResultFile& results)
      : order_(order), cublas_(cublas), clock_(clock), seed_(seed), results_(results) {}

  /// Compares every side with float64 at the row's timed size, then times those that are right, and the rival, in
  /// turns.
  void time(Row const& row);
  /// Compares every side with float64 at the row's small size, once for all rows that share it; times nothing.
  void check(Row const& row);
  /// Compiles the row's kernels for a GPU that need not be here, each label once; prints registers and spills.
  void compile(Row const& row);
  /// Prints, for each group and variant, the worst case and the geometric mean of the ratios.
  void summarise() const;

  [[nodiscard]] bool right() const { return wrong_ == 0; }

 private:
  struct Checked;
  struct Group {
    std::string name, variant;
    std::vector<std::pair<double, std::string>> ratios;  ///< and the row
  };

  void time_sides(Row const& row);
  bool verify(Row const& row, Side const& side, Workload& work, Checked& result);
  [[nodiscard]] std::vector<Candidate> rivals(Row const& row, Workload& work) const;
  void report(Row const& row, Workload const& work, Candidate const& candidate, Candidate const* rival,
              Checked const* checked);
  /// Remembers a ratio for the summary.
  void count(std::string const& group, std::string const& variant, double ratio, std::string const& row);
  void wrong(std::string const& name, std::string const& problem);

  stream order_;
  Cublas const* cublas_;
  CoolClock clock_;
  std::uint64_t seed_;
  ResultFile& results_;
  std::string group_;  ///< the one whose table was begun last
  std::vector<Group> groups_;
  std::set<std::string> checked_, compiled_;  ///< those that check() and compile() are done with
  int wrong_ = 0;
};

}  // namespace tegula::bench
