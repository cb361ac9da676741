// Compares functions and modules by their ops, not by their text.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Compares all but the names of values and locations.
bool equal(Module const& a, Module const& b);
bool equal(Function const& a, Function const& b);

/// Compares functions; their own names may differ too.
bool equal_but_name(Function const& a, Function const& b);

}  // namespace tegula::ir
