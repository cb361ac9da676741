// Compiles traced IR to a kernel.
#pragma once

#include <string>
#include <string_view>

#include "ir/core/op.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "transform/pipeline.hpp"

namespace tegula::compiler {

/// Returns the target's own pipeline.
transform::Pipeline default_pipeline(Target target);
/// Returns the pipeline for this module: a shorter one for kernels written in block ops.
transform::Pipeline default_pipeline(ir::Module const& module, CompileOptions const& options);

/// Returns a copy of the module, before any pass, with the checks that the options ask for. An option leaves out its
/// device_asserts.
ir::Module with_checks(ir::Module const& module, CompileOptions const& options);

/// Says how a kernel of these options rounds products that meet sums, and why, for explain.
std::string_view rounding_of_products(CompileOptions const& options);

/// Returns a copy of the module, with its checks, for the simulator of tiles: as it stands, but for the products that
/// are added without rounding on every executor.
ir::Module for_tiles(ir::Module const& module, CompileOptions const& options);

/// Returns a copy of the module after the passes of `options` (its pipeline, or the target's own), verified before;
/// code generation reads it. Throws UserError for a module that is not well-formed, for options that it refuses and for
/// kernels that the target refuses. The observer is told the module after each pass.
ir::Module lower(ir::Module const& module, CompileOptions const& options, transform::PassObserver const& observer = {});

/// Compiles the module's kernel: `lower`, then code generation, with parameters and launch program filled in. Writes
/// the dumps that TEGULA_DUMP asks for. Throws as `lower` does; when code generation fails, InternalError names a
/// replay file.
CompiledKernel compile(ir::Module const& module, CompileOptions const& options);

/// Says whether a kernel whose registers are estimated not to suffice is compiled, with a warning. It is refused where
/// the options state the passes, or the numbers of warps and stages exactly: only then another choice is the caller's.
bool may_spill(CompileOptions const& options);

/// Throws the UserError with which `emit` refuses a module that the passes have made for a GPU; does not make code.
void refuse_for_gpu(ir::Module const& lowered, CompileOptions const& options);

/// Generates code alone, for a module that the passes have prepared for the target. For a GPU the kernel's budget is
/// counted first; exceeding it is a UserError (analysis/budget.hpp), or a warning where registers spill.
CompiledKernel emit(ir::Module const& lowered, CompileOptions const& options);

/// Returns an output of code generation as text: the "launch" program, "llvm" IR, "asm" of a host, "ptx", or the image
/// ("object"). Throws as `emit` does, and UserError for an output that the target does not have.
std::string output(ir::Module const& lowered, CompileOptions const& options, std::string_view kind);

}  // namespace tegula::compiler
