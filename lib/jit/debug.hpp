// Runs a launch on the debug device.
#pragma once

#include <span>
#include <vector>

#include "tegula/jit/launcher.hpp"
#include "tegula/runtime/argument.hpp"

namespace tegula::jit {

/// Calls the kernel's lambda for each block of the grid, in order, on this thread; ops run as they are recorded. Checks
/// arguments and requirements as a launch does.
simulation run_by_lambda(KernelRef const& kernel, std::span<Argument const> arguments, GridOverride const& grid);

}  // namespace tegula::jit

extern "C" {
/// Returns a debugger the text of a tile or scalar of the block that runs on this thread, named by its handle. The text
/// stays valid until the next call.
[[gnu::used, gnu::noinline, gnu::visibility("default")]] char const* tegula_debug_text(unsigned trace, int value);
}
