// States the facts of tensors for code that no launch asks for, and reads the ways of its tensors.
#pragma once

#include "jit/traced.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/abi/kernel_facts.hpp"

namespace tegula::ir {
class Module;
}  // namespace tegula::ir
namespace tegula::runtime::cuda {
struct Assembly;
}  // namespace tegula::runtime::cuda

namespace tegula::jit {

/// Returns options that state facts of the tensors: those that they state, else dense and aligned tensors. facts,
/// budget, host_paths and compile take the same ones.
CompileOptions with_facts(Traced const& source, CompileOptions options);

/// Returns the way of each tensor to the kernel's code, as far as no launch decides it.
HostPlan plan_of(Traced const& traced, CompiledKernel const& compiled, KernelPaths const& paths);

/// Returns the facts of a kernel that is compiled for a GPU. `lowered`: the module after the passes; `assembly`: of
/// the code, null where there is no ptxas.
KernelFacts facts_of(Traced const& source, ir::Module const& lowered, CompiledKernel const& compiled,
                     CompileOptions const& options, runtime::cuda::Assembly const* assembly);

}  // namespace tegula::jit
