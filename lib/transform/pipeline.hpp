// The one table of passes, text pipelines over it, and their execution with dumps, timing, verification, overrides and
// replay files.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/options.hpp"
#include "transform/pass.hpp"

namespace tegula::transform {

/// Something that holds of a whole module. Passes need facts and leave facts; whether one holds is read off the IR, so
/// a dump that is read back needs no memory of what ran.
enum class Fact : std::uint8_t {
  no_calls,        ///< no call is left
  expanded_math,   ///< elementary functions are arithmetic
  layouts,         ///< every tile has a layout
  no_dots,         ///< no product of tiles is left
  no_fetches,      ///< no tile in shared memory without a buffer is left
  shared_offsets,  ///< every user of shared memory has its place
  barriers,        ///< no hazard is left that a barrier can close
};
inline constexpr int fact_count = 7;

std::string_view name(Fact fact);
/// Why the fact does not hold: the first op in its way. Empty: it holds.
std::string why_not(Fact fact, ir::Module const& module);

struct FactSet {
  unsigned bits = 0;
  constexpr FactSet() = default;
  constexpr FactSet(std::initializer_list<Fact> facts) {
    for (Fact fact : facts) bits |= 1U << static_cast<int>(fact);
  }
  [[nodiscard]] constexpr bool has(Fact fact) const { return (bits >> static_cast<int>(fact) & 1U) != 0; }
};

/// One row of the table.
struct PassInfo {
  std::string_view name;
  std::string_view summary;
  FunctionPass function = nullptr;  ///< one of the two is set; function passes run callees first
  ModulePass module = nullptr;
  FactSet needs = {};
  FactSet leaves = {};
  FactSet breaks = {};  ///< facts that may no longer hold afterwards
};

std::span<PassInfo const> passes();
/// Null when there is no such pass.
PassInfo const* find_pass(std::string_view name);
/// Each pass with its summary, needs and leaves.
std::string describe_passes();

/// Reads "canonicalize,eliminate-dead-code"; empty text is the empty pipeline. An unknown name is an error that lists
/// the known ones.
std::vector<PassInfo const*> parse_pipeline(std::string_view text, support::Diagnostics& diagnostics);

/// Why the passes cannot run in this order on this module: the first pass whose need is neither left by a pass before
/// it nor true of the module. Empty: they can.
std::string why_not_in_this_order(std::span<PassInfo const* const> pipeline, ir::Module const& module);

/// Runs a pipeline on a verified module, as the environment's options say: TEGULA_DUMP, TEGULA_TIME, TEGULA_VERIFY and
/// TEGULA_OVERRIDE_DIR. Throws UserError for a text that names no pass, an order that is refused, or an error that a
/// pass reports; InternalError when a pass fails or breaks its contract. When a pass fails, the IR before it and the
/// passes left stay in a replay file that the error names; `tegula_opt --replay` runs it.
void run_pipeline(ir::Module& module, std::string_view pipeline, CompileOptions const& options,
                  support::Options const& environment = support::options());
/// The same for passes that need not stand in the table.
void run_pipeline(ir::Module& module, std::span<PassInfo const* const> pipeline, CompileOptions const& options,
                  support::Options const& environment);

/// The text of a replay file: IR with a comment that holds pipeline and options.
std::string replay_text(ir::Module const& module, std::string_view pipeline, CompileOptions const& options);

struct Replay {
  std::string pipeline;
  CompileOptions options;
};
/// Reads the comment of a replay file. Throws UserError if there is none.
Replay read_replay(std::string_view text);

}  // namespace tegula::transform
