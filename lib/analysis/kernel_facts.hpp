// Extracts performance facts (accesses, conflicts, registers) from lowered IR.
#pragma once

#include "ir/core/op.hpp"
#include "tegula/abi/kernel_facts.hpp"

namespace tegula::analysis {

/// Returns the facts of a kernel whose tiles have layouts and whose global accesses have their widths. The paths,
/// shared_bytes and the assembler's facts are left open.
KernelFacts kernel_facts(ir::Function const& kernel);

}  // namespace tegula::analysis
