// Makes the NVPTX target machine, runs LLVM's passes, and prints PTX from an LLVM module.
#pragma once

#include <memory>
#include <string>

#include "codegen/llvm_fwd.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::codegen::nvptx {

/// Makes the machine that prints texts of a PTX version (80 for 8.0) for a GPU.
std::unique_ptr<llvm::TargetMachine> make_target_machine(TargetInfo const& gpu, int ptx_version);
/// Gives a new module the machine's triple and data layout.
void prepare_module(llvm::Module& module, llvm::TargetMachine& machine);
/// Runs LLVM's O2, without its vectorisers: our passes decide registers and widths. The machine tells it which values
/// differ between threads.
void optimize(llvm::Module& module, llvm::TargetMachine& machine);
/// Prints the module as PTX. Changes the module.
std::string print_ptx(llvm::Module& module, llvm::TargetMachine& machine);

}  // namespace tegula::codegen::nvptx
