// Makes the NVPTX target machine, runs LLVM's passes, and prints PTX from an LLVM module.
#pragma once

#include <memory>
#include <string>

#include "codegen/llvm_fwd.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::codegen::nvptx {

/// States PTX 8.0, times ten: the first version that knows sm_90a.
inline constexpr int min_ptx_version = 80;

std::unique_ptr<llvm::TargetMachine> make_target_machine(TargetInfo const& gpu, int ptx_version = min_ptx_version);
/// Gives a new module the machine's triple and data layout.
void prepare_module(llvm::Module& module, llvm::TargetMachine& machine);
/// Runs LLVM's O2, without its vectorisers: our passes decide registers and widths. The machine tells it which values
/// differ between threads.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);
/// Prints the module as PTX. Changes the module.
std::string print_ptx(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tegula::codegen::nvptx
