// Facts that decide a kernel's speed, read off its lowered IR.
#pragma once

#include "ir/op.hpp"
#include "tegula/abi/kernel_facts.hpp"

namespace tegula::analysis {

/// Facts of a kernel whose tiles have layouts and whose global accesses have their widths; shared_bytes and what the
/// assembler says are left open.
KernelFacts kernel_facts(ir::Function const& kernel);

}  // namespace tegula::analysis
