// From traced IR to a compiled kernel.
#pragma once

#include <string>

#include "ir/op.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "transform/pass_table.hpp"

namespace tegula::compiler {

/// The target's own pipeline.
transform::Pipeline default_pipeline(Target target);
/// The same for this module: a shorter one for kernels written in block ops.
transform::Pipeline default_pipeline(ir::Module const& module, CompileOptions const& options);

/// A copy of the module after the passes of `options` (its pipeline, or the target's own), verified before; what code
/// generation reads. Throws UserError for a module that is not well-formed, for options that it refuses and for kernels
/// that the target refuses.
ir::Module lower(ir::Module const& module, CompileOptions const& options);

/// Compiles the module's kernel: `lower`, then code generation, with parameters and launch program filled in. Writes
/// the dumps that TEGULA_DUMP asks for. Throws as `lower` does; when code generation fails, InternalError names a
/// replay file.
CompiledKernel compile(ir::Module const& module, CompileOptions const& options);

/// Throws the UserError with which `emit` refuses a module that the passes have made for a GPU; makes no code.
void refuse_for_gpu(ir::Module const& lowered, CompileOptions const& options);

/// Code generation alone, for a module that the passes have brought to what the target needs. For a GPU the kernel's
/// budget is counted first; what is over it is a UserError (analysis/budget.hpp).
CompiledKernel emit(ir::Module const& lowered, CompileOptions const& options);

}  // namespace tegula::compiler
