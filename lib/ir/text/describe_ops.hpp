// Prints the table of ops as JSON, for the reference of ops and for tools that read IR text.
#pragma once

#include <string>

namespace tegula::ir {

/// Returns a JSON list with an entry for each op, in the order of OpKind: mnemonic, struct, family, operands, elements
/// that it takes, attributes with their defaults and bounds, effects, traits, executors and the pass that replaces it.
std::string describe_ops();

}  // namespace tegula::ir
