// Simulates a launch: the same checks, the reference meaning of every op, reports instead of silence.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "jit/traced.hpp"
#include "tegula/runtime/argument.hpp"

namespace tegula::jit {

/// Holds one launch, ready to be simulated any number of times. Memory of CUDA devices is copied to the host and back.
///
/// Without a schedule the kernel runs as it was traced: whole tiles, block by block. With one, the kernel as the passes
/// transform it for the GPU runs warp by warp, after the tiles. Kernels that hold block ops run only so.
class Simulation {
 public:
  /// Checks arguments and requirements as a launch does. Throws UserError, also for a schedule that does not parse.
  Simulation(KernelRef const& kernel, std::span<Argument const> arguments, GridOverride const& grid,
             std::string schedule);

  /// Runs it; the report lists the kernel's errors. Throws UserError with the compiler's reason for a kernel that a
  /// schedule asks for and the GPU refuses.
  [[nodiscard]] simulation result() const;
  /// Runs it and throws with the reports if there are any. Throws UserError when the kernel as written is wrong,
  /// InternalError when only the passes' result is.
  void run() const { (void)checked(); }
  /// Does the same and returns the result.
  simulation checked() const;

 private:
  struct Found {
    simulation result;
    bool ours = false;  ///< the kernel as traced ran without a report
  };
  [[nodiscard]] Found find() const;

  std::shared_ptr<Traced const> traced_;
  std::vector<Argument> arguments_;
  std::vector<detail::Handle<detail::Allocation>> buffers_;
  std::string schedule_;
  CompileOptions options_;  ///< of the same launch on the GPU
};

}  // namespace tegula::jit
