// Makes the advice of a launch, prints it at the first one under TEGULA_ADVICE, and keeps what launches took.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "jit/estimate.hpp"
#include "jit/traced.hpp"
#include "runtime/loaded_kernel.hpp"
#include "runtime/prepared_launch.hpp"
#include "tegula/abi/advice.hpp"
#include "tegula/abi/kernel_paths.hpp"
#include "tegula/jit/launcher.hpp"

namespace tegula::jit {

/// Holds what the passes say of a launch.
struct Inspection {
  KernelPaths paths;
  Advice advice;
};

/// Runs the passes on the kernel of a launch, as its code was compiled, and looks at what they made. `loaded`: that
/// code; `arguments`: as the call gives them. Nothing is cached.
Inspection inspect(KernelRef const& kernel, runtime::LoadedKernel const& loaded, std::span<Argument const> arguments,
                   GridOverride const& grid);

/// Holds a launch on a GPU that need not be there: the kernel that it takes, and its code's options.
class LaunchElsewhere {
 public:
  LaunchElsewhere(TargetInfo const& target, KernelRef const& kernels, std::span<Argument const> arguments,
                  GridOverride const& grid);
  LaunchElsewhere(LaunchElsewhere const&) = delete;
  LaunchElsewhere& operator=(LaunchElsewhere const&) = delete;

  [[nodiscard]] KernelRef const& kernel() const { return kernel_; }
  [[nodiscard]] std::shared_ptr<Traced const> const& source() const { return source_; }
  [[nodiscard]] CompileOptions const& options() const { return options_; }
  [[nodiscard]] std::vector<Argument> const& arguments() const { return with_grid_; }
  [[nodiscard]] Inspection inspect() const;

 private:
  std::span<Argument const> given_;
  GridOverride const& grid_;
  Executor executor_;
  KernelRef kernel_;
  std::optional<CompileOptions> joined_;
  std::shared_ptr<Traced const> source_;  ///< with the parameters of a stated grid, if the launch states one
  std::vector<Argument> with_grid_;       ///< the arguments, and the grid that the launch states
  CompileOptions options_;
};

/// Looks at a kernel that nobody launches, on sizes that the caller makes up.
Inspection inspect(Traced const& source, CompileOptions const& options, std::span<Argument const> arguments,
                   Executor const& executor);

/// Returns the options that code was compiled with for a launch.
CompileOptions options_of(KernelRef const& kernel, runtime::LoadedKernel const& loaded);

/// Returns the seconds of the latest launch of this code that was timed; 0: none was, or a graph took it. Waits for it.
double measured_seconds(runtime::LoadedKernel const& loaded);

/// Prints the advice of an inspected launch to standard error.
void print_advice(runtime::LoadedKernel const& loaded, Advice const& advice);

/// Runs a launch under TEGULA_ADVICE=on: times it, and prints the advice if it is the first of its code.
void run_with_advice(stream const& order, KernelRef const& kernel, std::span<Argument const> arguments,
                     GridOverride const& grid, runtime::PreparedLaunch const& launch);

/// Forgets which launches ran, with the code of kernels that is forgotten.
void forget_timed_launches();

}  // namespace tegula::jit
