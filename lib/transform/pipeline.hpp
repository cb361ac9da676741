// Runs pipelines, given as lists or as text, with dumps, timing, verification, overrides and replay files.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "support/options.hpp"
#include "transform/pass_table.hpp"

namespace tegula::transform {

/// Reads "canonicalize,eliminate-dead-code"; empty text is the empty pipeline. An unknown name is an error that lists
/// the known ones.
std::vector<PassInfo const*> parse_pipeline(std::string_view text, support::Diagnostics& diagnostics);

/// Prints the names of the passes, as parse_pipeline reads them.
std::string to_string(Pipeline pipeline);

/// Explains why the passes cannot run in this order on this module. Empty: they can. A pass is refused
/// - before a pass that it comes after, unless one of the two works on all levels,
/// - after the last level on which it works,
/// - below the first one, or without a property that it needs: neither an earlier pass leaves it, nor has the module
/// it.
std::string why_not_in_this_order(Pipeline pipeline, ir::Module const& module);

/// Is told the module after each pass, and whether the pass changed it.
using PassObserver = std::function<void(PassInfo const&, ir::Module const&, bool changed)>;

/// Runs a pipeline on a verified module, as the environment's options say: TEGULA_DUMP, TEGULA_TIME, TEGULA_VERIFY and
/// TEGULA_OVERRIDE_DIR. Throws UserError for a text that names no pass, an order that is refused, or an error that a
/// pass reports. Throws InternalError when a pass fails or breaks its contract. When a pass fails, the IR before it and
/// the passes left stay in a replay file that the error names; `tegula_opt --replay` runs it.
void run_pipeline(ir::Module& module, std::string_view pipeline, CompileOptions const& options,
                  support::Options const& environment = support::options(), PassObserver const& observer = {});
/// Runs a list of passes; they need not stand in the table.
void run_pipeline(ir::Module& module, Pipeline pipeline, CompileOptions const& options,
                  support::Options const& environment = support::options(), PassObserver const& observer = {});

/// Returns the text of a replay file: IR with a comment that holds pipeline and options.
std::string replay_text(ir::Module const& module, std::string_view pipeline, CompileOptions const& options);

struct Replay {
  std::string pipeline;
  CompileOptions options;
};
/// Reads the comment of a replay file. Throws UserError if there is none.
Replay read_replay(std::string_view text);

}  // namespace tegula::transform
