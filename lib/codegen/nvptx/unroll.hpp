// States how often LLVM unrolls an emitted loop.
#pragma once

#include <llvm/IR/Instructions.h>

#include <cstdint>

namespace tegula::codegen::nvptx {

/// Keeps the loop of a branch back to its header rolled unless it asks for several iterations at once: our own passes
/// shape loops.
void unroll(llvm::BranchInst* back, std::int64_t factor);

}  // namespace tegula::codegen::nvptx
