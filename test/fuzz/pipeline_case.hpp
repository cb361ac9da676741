// Provides cases for the fuzzer: one kernel as text, with all that a run through the cuda pipeline needs. Judges them:
// the simulator runs the kernel as written and after the passes; both must leave the same values in every tensor.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ir/core/op.hpp"
#include "support/host_tensor.hpp"
#include "kernels/kernel_writer.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::fuzz {

struct PipelineCase {
  ir::Module module;
  std::vector<test::RandomParameter> parameters;
  CompileOptions options;
  std::int64_t ctas = 0;  ///< or clusters, of kernels that stay on their multiprocessors; 0: as many as those ask for

  [[nodiscard]] PipelineCase clone() const { return {module.clone(), parameters, options, ctas}; }
};

/// Gives the trip counts of loops in terms of S, the stages of their rings.
enum class Trips : std::uint8_t { none, one, less, same, more, twice_and_more };
inline constexpr int trips_count = 6;
/// 0, 1, S - 1, S, S + 1, 2 S + 1.
constexpr std::int64_t trips_of(Trips trips, std::int64_t stages) {
  std::int64_t const counts[trips_count] = {0, 1, stages - 1, stages, stages + 1, 2 * stages + 1};
  return counts[static_cast<std::size_t>(trips)];
}

/// The case of a seed; the same on every machine. With `trips` all its loops run so often, inner ones three times at
/// most; else each as often as chance has it.
PipelineCase random_case(std::uint64_t seed, std::optional<Trips> trips = {});

/// A replay file (`tegula_opt --replay` runs its passes) whose comments hold the arguments too; and back. Throws
/// UserError for text that is none.
std::string case_text(PipelineCase const& one);
PipelineCase read_case(std::string_view text);

/// Writes what the parameter holds, which is the `place`-th of its kernel.
void fill(test::HostTensor& tensor, test::RandomParameter const& parameter, std::size_t place);

struct Judgement {
  enum class Kind : std::uint8_t {
    right,
    refused,  ///< the verifier or a pass says that it does not take the kernel
    invalid,  ///< the kernel as written is not clean by itself
    wrong,
  };
  Kind kind = Kind::right;
  std::string pass;  ///< wrong: after which pass it shows first, or which one failed
  std::string reason;
  std::uint64_t runs = 0;  ///< of texts in warps, each with a schedule of its own
  [[nodiscard]] bool wrong() const { return kind == Kind::wrong; }
};

struct JudgeOptions {
  /// Runs the text after every pass that changed it, if the simulator takes it. Runs every pass again, which must
  /// change nothing. Else runs only the last pass' text.
  bool each_pass = false;
  int schedules = 1;  ///< seeds, besides `latest` and `earliest`; of a whole sweep where each_pass
  /// Elements that one text computes in a whole sweep, and each copy that a thread holds. Texts beyond it run as the
  /// last pass' text does: a tile of odd extents has as many copies as the CTA has threads.
  double max_swept = 2e9;
  /// Elements computed by the texts of all passes; beyond them only the last pass' text runs.
  double max_computed = 1e10;
  std::string_view until;  ///< the last pass that runs; empty: all
  /// Called after each pass; for tests, which break something there.
  std::function<void(std::string_view pass, ir::Module& module)> behind;
};

/// Finds errors after the whole pipeline, or after each of its passes. A wrong whole is judged again pass by pass.
Judgement judge(PipelineCase const& one, JudgeOptions const& options = {});

/// The smallest case found whose judgement is wrong after the same pass: ops, extents, trip counts and options go as
/// long as that stays so.
PipelineCase shrink(PipelineCase const& one, Judgement const& found, JudgeOptions const& options = {});
/// Does the same for any property, judged so many times at most. A candidate that throws does not have it.
PipelineCase shrink(PipelineCase const& one, std::function<bool(PipelineCase const&)> const& wrong,
                    int judgements = 3000);

/// Returns the kind of an error: its text up to the first name or number.
std::string_view kind_of(std::string_view reason);

/// Returns the elements that a warp computes in a step on average, copies and all, and the cost of the step itself in
/// elements.
double elements_of_step(ir::Module const& module);

}  // namespace tegula::fuzz
