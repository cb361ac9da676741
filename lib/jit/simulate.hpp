// A launch in the simulator: the same checks, the reference meaning of every op, reports instead of silence.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "jit/kernel_cache.hpp"
#include "sim/interpreter.hpp"
#include "tegula/runtime/argument.hpp"

namespace tegula::jit {

/// One launch, ready to be simulated any number of times. Memory of CUDA devices is copied to the host and back.
class Simulation {
 public:
  /// Checks arguments and requirements as a launch does. Throws UserError.
  Simulation(std::shared_ptr<Traced const> traced, std::span<Argument const> arguments, GridOverride const& grid);

  /// Runs it; what the kernel did wrong is in the result.
  [[nodiscard]] sim::Result result() const;
  /// Runs it and throws UserError with the reports if there are any.
  void run() const;

 private:
  std::shared_ptr<Traced const> traced_;
  std::vector<Argument> arguments_;
  std::vector<detail::Handle<detail::Allocation>> buffers_;
  GridOverride grid_;
};

}  // namespace tegula::jit
