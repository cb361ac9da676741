// Foretells the registers that the assembler needs for a kernel, from its IR with layouts.
#pragma once

#include "ir/op.hpp"

namespace tegula::analysis {

/// Foretells the least limit of registers of a thread with which the assembler keeps no values in local memory. It is
/// fitted to what one assembler was seen to need (test/registers); it does not ask whether one is installed. Of roles
/// that set different registers, it is the need of the one that takes most.
int register_need(ir::Function const& kernel);

/// Foretells the registers that a partition takes behind its setmaxnreg, if that many are no limit.
int register_need_of_role(ir::Block& role);

}  // namespace tegula::analysis
