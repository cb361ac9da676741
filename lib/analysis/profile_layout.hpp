// Describes the log of a kernel for the parts that read it.
#pragma once

#include "ir/core/op.hpp"
#include "tegula/abi/profile_format.hpp"

namespace tegula::analysis {

/// Returns the sizes, names and roles of the log that lower-profiling made; no rows if the kernel has none.
ProfileLayout profile_layout(ir::Function const& kernel);

}  // namespace tegula::analysis
