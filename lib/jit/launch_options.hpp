// Joins the options of a call with those of the environment.
#pragma once

#include <string>
#include <vector>

#include "tegula/abi/compile_options.hpp"
#include "tegula/jit/launcher.hpp"
#include "tegula/runtime/device.hpp"

namespace tegula::jit {

/// Returns the options of the call, or the compiler's own choices.
CompileOptions const& chosen_options(KernelRef const& kernel);

/// Returns the options of a launch on `where` with tensors of which `facts` hold (one per parameter). Joins those of
/// the kernel, if the call states some, and those of the environment. Throws UserError for options that follow from the
/// call.
CompileOptions launch_options(KernelRef const& kernel, device where, std::vector<TensorFacts> facts);
/// Returns the same for a launch on a GPU of an architecture, which need not be there.
CompileOptions gpu_launch_options(KernelRef const& kernel, std::string architecture, std::vector<TensorFacts> facts);

}  // namespace tegula::jit
