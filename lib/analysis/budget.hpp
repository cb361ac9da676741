// Counts the resources of the target that a kernel takes, on its IR.
#pragma once

#include "ir/op.hpp"
#include "tegula/abi/budget.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::analysis {

/// Counts a kernel as code generation will take it: with layouts, warps and offsets. Loads that a rule of TMA keeps on
/// the pointer path are among the broken rules, but not fatal.
Budget budget(ir::Function const& kernel, TargetInfo const& target);

/// Throws a UserError with the first fatal rule's values and remedy.
void refuse_over_budget(ir::Function const& kernel, TargetInfo const& target);

}  // namespace tegula::analysis
