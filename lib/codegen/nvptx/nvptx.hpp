// Compiles IR with layouts to PTX.
#pragma once

#include "ir/core/op.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::codegen {

/// Returns the PTX of the module's kernel for the GPU of the options. Needs the output of the cuda pipeline: calls
/// inlined, a layout on every tile, warps and scratch offsets decided. Fills all of CompiledKernel but the launch
/// program. Throws UserError, with the op's line, for ops that the device does not have yet, and for more shared memory
/// than the device has.
CompiledKernel emit_ptx(ir::Module const& module, CompileOptions const& options);

/// Throws the UserError with which emit_ptx refuses the module; stops after making LLVM IR.
void refuse_ptx(ir::Module const& module, CompileOptions const& options);

/// Returns the optimised LLVM IR of the same, for tests and dumps.
std::string emit_device_llvm(ir::Module const& module, CompileOptions const& options);

}  // namespace tegula::codegen
