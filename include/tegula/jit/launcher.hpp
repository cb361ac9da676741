// Declares the launcher behind the typed templates of launch.hpp: it sees kernels and arguments without their types.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tegula/call/pack.hpp"
#include "tegula/jit/explanation.hpp"
#include "tegula/abi/tuned_table.hpp"
#include "tegula/runtime/prepared.hpp"
#include "tegula/runtime/stream.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/abi/kernel_facts.hpp"
#include "tegula/profile/profile.hpp"
#include "tegula/support/error.hpp"
#include "tegula/support/location.hpp"
#include "tegula/trace/traced_kernel.hpp"

namespace tegula {

struct TargetInfo;

/// Reports the result of a simulated launch.
struct simulation {
  enum class Executor : std::uint8_t {
    tiles,   ///< the kernel as written: whole tiles, block by block
    warps,   ///< the kernel as the passes transform it for the GPU
    lambda,  ///< the kernel's lambda itself, called for each block (debug())
  };
  bool clean = true;        ///< no report
  std::int64_t blocks = 0;  ///< of the grid, run
  std::int64_t steps = 0;   ///< ops executed
  std::string report;       ///< races, accesses outside memory and the like with both source lines; empty when clean
  Executor executor = Executor::tiles;  ///< the executor that clean, blocks, steps and report describe
  std::string pipeline;                 ///< the passes that made the warps' code; empty for tiles
  bool exact = true;                    ///< every rounding as written, under the option
  Profile profile;                      ///< of the warps, if the options ask for records; in virtual time
};

/// Counts the builds of one kernel in this process.
struct Builds {
  int count = 0;  ///< for all devices and options; found in a cache on disk or compiled
  int bound = 0;  ///< at most so many for one device, one set of options, and a grid of the kernel's or of the launch
};

/// Says which of several kernels a launch takes.
struct VariantChoice {
  enum class By : std::uint8_t {
    single,   ///< there is one kernel
    table,    ///< a tuned table has the problem
    nearest,  ///< a tuned table has a problem whose numbers differ by at most a factor of 1.5
    model,    ///< the model of the cost
  };
  int number = 0;     ///< of the kernel, in the order of variants()
  std::string label;  ///< of the kernel
  By by = By::single;
  std::string why;  ///< the table, or the estimates, as text
};

namespace jit {

/// Refers to a kernel object during one call.
struct KernelRef {
  char const* name = "";
  std::uint64_t* identity = nullptr;  ///< Kernel::identity of a captureless kernel; null: trace at each launch
  void const* kernel = nullptr;
  trace::TracedKernel (*trace)(void const* kernel) = nullptr;
  CompileOptions const* options = nullptr;  ///< of a launch `with(options)`; null: the compiler's own choices
  char const* label = "";                   ///< of one of several kernels
  int members = 0;                          ///< of variants: `kernel` refers to them, and each launch takes one
  KernelRef (*member)(void const* kernel, int number) = nullptr;
  std::span<TunedTable const* const> tables;  ///< of variants; the last may be null
  char const* type = "";                      ///< as typeid names that of the lambda, or of the variants
  location where = {};                        ///< of the kernel; unknown for variants
  bool captures = false;                      ///< the lambda's type does not say everything about the kernel
};

using call::ArgumentList;
using detail::PreparedState;

void launch(stream const& order, KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid);
PreparedState* prepare(device const* where, KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid);
/// Simulates a launch. `schedule`: of warps; empty: whole tiles, block by block.
simulation simulate(KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid,
                    std::string const& schedule);
/// Runs a launch with records and waits for it.
Profile profile(stream const& order, KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid);
/// Runs a launch on the debug device.
simulation debug(KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid);
Explanation explain(device const* where, KernelRef const& kernel, ArgumentList arguments, GridOverride const& grid);
/// Explains a launch on a GPU that need not be there.
Explanation explain(TargetInfo const& target, KernelRef const& kernel, ArgumentList arguments,
                    GridOverride const& grid);
CompiledKernel compile(KernelRef const& kernel, CompileOptions const& options);
KernelFacts facts(KernelRef const& kernel, CompileOptions options);
Builds builds(KernelRef const& kernel);
VariantChoice choice(device const* where, KernelRef const& kernels, ArgumentList arguments, GridOverride const& grid);
[[noreturn]] void refuse_table(char const* name, int max_tables);
KernelPaths host_paths(KernelRef const& kernel, CompileOptions options);

}  // namespace jit

}  // namespace tegula
