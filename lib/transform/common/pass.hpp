// Defines a pass. Each pass has a pair of files of its own and one row in pass_table.cpp.
//
//   /// Verb and object. Before / after: a few lines of IR.  Needs: properties.  Leaves: properties.
//   PassResult insert_barriers(ir::Function&, PassContext&);
//
// A pass is a free function without state. Everything comes in by argument; decisions go out as attributes of the IR,
// findings as diagnostics. It answers `changed` exactly when it changed something; run twice, the second run does not.
#pragma once

#include "analysis/analysis_cache.hpp"
#include "ir/core/op.hpp"
#include "support/diagnostics.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::transform {

enum class PassResult : std::uint8_t { unchanged, changed };

inline PassResult result_of(bool changed) { return changed ? PassResult::changed : PassResult::unchanged; }
inline PassResult operator|(PassResult a, PassResult b) {
  return result_of(a == PassResult::changed || b == PassResult::changed);
}
inline PassResult& operator|=(PassResult& a, PassResult b) { return a = a | b; }

/// Holds everything that a pass may ask for. An error among the diagnostics ends the pipeline. It is the user's (a
/// kernel that does not fit, an op that the target refuses); internal errors are thrown as InternalError.
struct PassContext {
  CompileOptions const& options;
  TargetInfo const& target;
  support::Diagnostics& diagnostics;
  analysis::AnalysisCache& analyses;  ///< of the whole module; those of one function stay with the pass that asks
};

using FunctionPass = PassResult (*)(ir::Function&, PassContext&);
using ModulePass = PassResult (*)(ir::Module&, PassContext&);

}  // namespace tegula::transform
