// Checks the meaning of IR: types, dominance, terminators, calls, directions, launch statements.
#pragma once

#include "ir/text/text.hpp"

namespace tegula::ir {

/// Lists findings in order, none when the module is well-formed; at most 20. With the positions of parsed text,
/// messages carry line and column. Never changes the module and never crashes on a broken one.
Diagnostics verify(Module const& module, Positions const* positions = nullptr);

}  // namespace tegula::ir
