// Generates code for the host CPU and loads its objects.
//
// Input is tile-level IR after expand-math; calls are inlined here. Elementwise chains become fused, vectorised loops
// over the index space of their consumers. Reductions, dots, loop-carried tiles and costly values used more than once
// are kept in per-thread scratch. A loop that only accumulates a dot becomes one contraction: its operands are packed
// once, in a separate phase, and shared by all blocks.
#pragma once

#include <string>

#include "ir/core/op.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/abi/kernel_paths.hpp"
#include "tegula/abi/loaded_host_kernel.hpp"

namespace tegula::codegen {

/// Compiles the module's kernel to an object file. Sets name, architecture, parameters, image, phases, workspace and
/// scratch. `launch` holds only the steps that phases and workspace_bytes name; the caller adds grid and requirements
/// with append_launch_program. options.architecture: an LLVM CPU name with at least SSE4.1, empty: this machine. Throws
/// UserError with the op's line for unsupported code: an elementary function that was not expanded, more than 256 MiB
/// of scratch per thread.
CompiledKernel emit_host(ir::Module const& module, CompileOptions const& options);

/// Tells whether that CPU has instructions for products and sums rounded once. UserError as emit_host.
bool host_has_fma(std::string const& architecture);

/// Returns the bytes of that CPU's widest vectors. UserError as emit_host.
int host_vector_bytes(std::string const& architecture);

/// True for an op that emit_host takes: all of the tile family; of the block family buffers and the barriers of a CTA.
bool runs_on_host(ir::Op const& op);

/// Returns the path of each load, store and product in the code of emit_host, which it does not finish. Throws as that.
KernelPaths host_paths(ir::Module const& module, CompileOptions const& options);

/// Returns the LLVM IR that emit_host would compile, before and after LLVM's passes; for dumps and tests.
std::string host_llvm_ir(ir::Module const& module, CompileOptions const& options, bool optimised);

/// Returns the machine code of emit_host as assembly text; for dumps.
std::string host_assembly(ir::Module const& module, CompileOptions const& options);

/// Appends `from`'s steps to `to`'s, renumbered; grid and requirements become `from`'s.
void append_launch_program(LaunchProgram& to, LaunchProgram const& from);

/// Maps a host object into this process. Throws UserError when the object
/// - is for a CPU with more features than this one,
/// - names a phase it does not hold,
/// - is not an object file.
LoadedHostKernel load_host(CompiledKernel const& kernel);

}  // namespace tegula::codegen
