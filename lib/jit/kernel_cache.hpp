// Finds the code or the prepared launch for a call of a kernel: in memory, on disk, or built now.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "jit/known_code.hpp"
#include "jit/traced.hpp"
#include "runtime/prepared_launch.hpp"
#include "tegula/jit/launcher.hpp"
#include "tegula/runtime/device.hpp"

namespace tegula::jit {

/// Returns loaded code for a launch with these arguments on a device: for the facts of its tensors and its class of
/// extents (extent_class.hpp). Of several threads that ask first, one compiles and the others wait. A failure is not
/// remembered, so the next call fails the same way. Safe from any thread.
FoundKernel find_kernel(KernelRef const& kernel, device where, std::span<Argument const> arguments,
                        GridFrom grid = GridFrom::kernel);

/// Returns a launch of a kernel on a device with these arguments. It is one of the latest of this kernel whose
/// arguments were equal, else a fresh one. Throws as find_kernel and PreparedLaunch do. Safe from any thread.
std::shared_ptr<runtime::PreparedLaunch const> find_launch(KernelRef const& kernel, device where,
                                                           std::span<Argument const> arguments, GridFrom grid);

/// Counts the builds of a kernel in this process for a launch on `where` with the options of the call.
int builds_for(KernelRef const& kernel, device where, GridFrom grid);

/// Forgets all kernels compiled in this process; for tests. Prepared launches keep theirs.
void clear_memory_cache();

/// Counts events since the process began; for tests.
struct Counters {
  std::int64_t traces = 0;
  std::int64_t compilations = 0;
};
Counters counters();

}  // namespace tegula::jit
