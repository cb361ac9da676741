// Orders functions by their calls, and finds unreached ones.
#pragma once

#include <vector>

#include "ir/core/op.hpp"

namespace tegula::analysis {

/// Returns the functions of the module, callees before their callers, otherwise in module order. The module must be
/// verified (no recursion, no unknown callee).
std::vector<ir::Function*> callees_first(ir::Module const& module);

/// Returns the functions that no kernel reaches.
std::vector<ir::Function*> unreached_functions(ir::Module const& module);

}  // namespace tegula::analysis
