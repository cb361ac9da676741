// Keeps the kernels compiled in this process, and turns a kernel object into loaded code: trace, key, disk, compiler.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "tegula/jit/launcher.hpp"
#include "tegula/runtime/device.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::jit {

/// Holds a traced kernel with the data that every launch of it needs.
struct Traced {
  explicit Traced(trace::TracedKernel kernel);

  trace::TracedKernel kernel;
  std::string text;  ///< canonical IR without locations
  std::string hash;  ///< of the text
  /// Holds message and source line of each requirement, in program order.
  struct Site {
    std::string message;
    location where;
  };
  std::vector<Site> sites;
};

/// Says where loaded code came from; for explain and tests.
enum class Origin : std::uint8_t { memory, disk, compiled };

struct FoundKernel {
  std::shared_ptr<runtime::LoadedKernel const> loaded;
  /// This kernel's source lines for the requirements of the code: an equal kernel elsewhere may have had it compiled.
  std::shared_ptr<std::vector<location> const> require_sites;
  Origin origin = Origin::memory;
};

/// Gives the options of the call, or the compiler's own choices.
CompileOptions const& chosen_options(KernelRef const& kernel);

/// Gives the options of a launch on `where` with tensors of which `facts` hold (one per parameter). Joins those of the
/// kernel, if the call states some, and those of the environment. Throws UserError for options that follow from the
/// call.
CompileOptions launch_options(KernelRef const& kernel, device where, std::vector<TensorFacts> facts);
/// The same for a launch on a GPU of an architecture, which need not be there.
CompileOptions gpu_launch_options(KernelRef const& kernel, std::string architecture, std::vector<TensorFacts> facts);

/// Says where a kernel's grid comes from: its own text, or the launch (see stated_grid.hpp).
enum class GridFrom : std::uint8_t { kernel, launch };

/// Calls the kernel's lambda, and what it launches; the only way to do so. Throws UserError for a lambda that launches
/// its own kernel. The caller holds no lock.
trace::TracedKernel call_lambda(KernelRef const& kernel);

/// Gives the kernel's IR: traced once per identity and name, else at each call. Safe from any thread; threads that ask
/// first at the same time trace at the same time.
std::shared_ptr<Traced const> traced(KernelRef const& kernel, GridFrom grid = GridFrom::kernel);

/// Gives loaded code for a kernel on a device. Of several threads that ask first, one compiles and the others wait. A
/// failure is not remembered, so the next call fails the same way. Safe from any thread.
FoundKernel find_kernel(KernelRef const& kernel, device where, std::span<TensorFacts const> facts,
                        GridFrom grid = GridFrom::kernel);

/// Gives a launch of a kernel on a device with these arguments. It is one of the latest of this kernel whose arguments
/// were equal, else a fresh one. Throws as find_kernel and PreparedLaunch do. Safe from any thread.
std::shared_ptr<runtime::PreparedLaunch const> find_launch(KernelRef const& kernel, device where,
                                                           std::span<Argument const> arguments, GridFrom grid);

/// Compiles without looking into any cache.
CompiledKernel compile(Traced const& traced, CompileOptions const& options);

/// Gives the path of each load, store and product under these options. Runs the passes; nothing is cached.
KernelPaths paths_of(Traced const& traced, CompileOptions const& options);

/// Gives the way of each tensor to the kernel's code, as far as no launch decides it.
HostPlan plan_of(Traced const& traced, CompiledKernel const& compiled, KernelPaths const& paths);

/// Gives the key of a kernel, as the disk cache has it.
std::string key_of(Traced const& traced, CompileOptions const& options);

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
