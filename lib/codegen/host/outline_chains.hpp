// Moves long runs of scalar instructions into functions of their own.
#pragma once

namespace llvm {
class Module;
}

namespace tegula::codegen::host {

/// Outlines each long run of scalar instructions that touch no memory, in parts, and asks LLVM not to optimise them.
/// Strength reduction, DAG combining and scheduling take quadratic to cubic time in its length. It runs once a block.
///
/// Before: `loop: %a1 = add %a0, 1 ... %a9999 = mul %a9998, %n; <code of tiles>`.
/// After:  `loop: call @loop.scalars(%a0, %n, %out); %a9999 = load %out; <code of tiles>`.
void outline_chains(llvm::Module& module);

}  // namespace tegula::codegen::host
