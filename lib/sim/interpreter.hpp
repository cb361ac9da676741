// Runs a kernel's IR on the CPU, one element at a time: the reference meaning of every op. Slow, exact, suspicious:
// errors that no order of blocks makes right are reported with source lines.
//
// Works on tile-level IR before or after any pass that leaves tile ops. The kernel must be verified
// (ir/verify/verifier.hpp).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/op.hpp"
#include "sim/value.hpp"

namespace tegula::sim {

/// Describes a strided view of host memory. Strides are in elements, outermost first, of any sign.
struct Tensor {
  void* data = nullptr;
  Element element = Element::f32;
  Extents extents;
  Extents strides;
  /// The allocation behind the view, when known: an access outside it is reported and not made.
  void const* memory_begin = nullptr;
  void const* memory_end = nullptr;
};

/// Makes a row-major view without gaps.
Tensor dense(void* data, Element element, Extents const& extents);

/// Holds one kernel argument: a tensor, or a scalar by its bits.
struct Argument {
  Argument(Tensor const& view) : is_tensor(true), tensor(view) {}
  Argument(ir::Constant const& value) : scalar(value) {}
  bool is_tensor = false;
  Tensor tensor;
  ir::Constant scalar;
};
using Arguments = std::vector<Argument>;

/// Selects the order of the grid's blocks. A seed means the same order on every machine.
struct Schedule {
  enum class Kind : std::uint8_t { ascending, descending, seeded };
  Kind kind = Kind::ascending;
  std::uint64_t seed = 0;
};
namespace schedule {
inline constexpr Schedule ascending{};
inline constexpr Schedule descending{Schedule::Kind::descending, 0};
/// Returns a random order.
constexpr Schedule seed(std::uint64_t number) { return {Schedule::Kind::seeded, number}; }
}  // namespace schedule

/// Prints "schedule::seed(7)".
std::string to_string(Schedule const& schedule);

using Grid = std::array<std::int64_t, 3>;

struct Options {
  Schedule schedule;
  Precision precision = Precision::exact;
  bool check_races = true;        ///< accesses of two blocks to one element, one of them a store
  bool report_unwritten = false;  ///< elements of out tensors that no block has written
  std::optional<Grid> grid;       ///< in place of the kernel's own
  bool check_asserts = true;
  bool print = true;     ///< device_print writes to standard output
  int max_reports = 20;  ///< further ones are counted only
  /// Takes the bytes of the kernel's log (tegula/abi/profile_format.hpp), if it has one; null: nobody asks.
  std::vector<std::byte>* profile = nullptr;
};

enum class ReportKind : std::uint8_t {
  write_race,       ///< two blocks store to one element
  read_write_race,  ///< one block loads what another stores
  outside_memory,   ///< an element within the extents lies outside the view's memory
  index_overflow,   ///< an i64 scalar wrapped from which a place or a bound of a loop follows
  bad_step,         ///< a loop whose step is not positive; it is not run
  unwritten,        ///< an element of an out tensor is left as it was
  failed_assert,    ///< a device_assert did not hold; the run goes on
};

/// Describes an error, the first time it happens at this pair of ops.
struct Report {
  ReportKind kind = ReportKind::write_race;
  std::string text;      ///< one line with block, element and values
  location where;        ///< of the op
  std::string op;        ///< its IR line
  location other;        ///< of the other access of a race
  std::string other_op;  ///< its IR line
  Grid block = {};
  Grid other_block = {};
  std::int64_t times = 1;  ///< how often
};
std::string to_string(Report const& report);

struct Result {
  std::vector<Report> reports;
  std::int64_t reports_left_out = 0;
  Grid grid = {1, 1, 1};
  std::int64_t blocks = 0;  ///< run
  std::int64_t steps = 0;   ///< ops executed
  Schedule schedule;
  [[nodiscard]] bool clean() const { return reports.empty(); }
  /// Prints all reports, the schedule first; empty if clean.
  [[nodiscard]] std::string str() const;
};

/// Runs all blocks of the grid. Throws UserError when arguments do not fit the parameters or a requirement fails.
Result run(ir::Function const& kernel, Arguments const& arguments, Options const& options = {});

/// Evaluates grid and requirements alone, from the IR. Throws UserError, naming the requirement, when one fails.
Grid launch_grid(ir::Function const& kernel, Arguments const& arguments);

/// Evaluates every step of a launch program.
std::vector<std::int64_t> evaluate(LaunchProgram const& program, Arguments const& arguments);

/// Runs the kernel under seeds first .. first + count - 1, from the same contents of its tensors each time. Compares
/// all written tensors bit by bit with the ascending order. Leaves the tensors as after the ascending order.
struct Exploration {
  std::int64_t orders = 0;
  std::optional<std::uint64_t> differing_seed;
  Result first_report;  ///< the first run that was not clean, else the ascending one
  std::string text;     ///< which element differs under which seed; empty: all agree
  [[nodiscard]] bool agree() const { return !differing_seed.has_value(); }
};
Exploration explore_orders(ir::Function const& kernel, Arguments const& arguments, int count,
                           Options const& options = {}, std::uint64_t first = 1);

}  // namespace tegula::sim
