// Removes the records of the kernel's author.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Removes records, with the ops that only they need. Before: `%i = add %t, %one`, `record %i {name = "tile"}`. After:
/// nothing. Returns true if there were some. Leaves: code that is the same as without them.
bool remove_records(ir::Function& function);

/// True for a function with records, its own or those of the functions that it calls.
bool has_records(ir::Function const& function);

}  // namespace tegula::transform
