// Counts the resources of the target that a kernel takes, on its IR.
#pragma once

#include <cstdint>

#include "ir/core/op.hpp"
#include "tegula/abi/budget.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::analysis {

/// Says whether a kernel may need more registers than a thread has: the assembler then keeps values in local memory.
enum class Spills : std::uint8_t { allowed, refused };

/// Counts a kernel as code generation will take it: with layouts, warps and offsets. Loads that a rule of TMA keeps on
/// the pointer path are among the broken rules, but not fatal. Nor are registers, which are broken where the model of
/// register_need is sure, unless spills are refused or so many that the code would take minutes to assemble.
Budget budget(ir::Function const& kernel, TargetInfo const& target, Spills spills = Spills::allowed);

/// Throws a UserError with the first fatal rule's values and remedy.
void refuse_over_budget(Budget const& budget, ir::Function const& kernel);
void refuse_over_budget(ir::Function const& kernel, TargetInfo const& target);

}  // namespace tegula::analysis
