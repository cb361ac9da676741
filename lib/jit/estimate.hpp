// Estimates how long a kernel takes, from its text and the sizes of a launch alone: to choose among variants.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "tegula/abi/compile_options.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/device.hpp"
#include "tegula/target/target_info.hpp"
#include "tegula/trace/traced_kernel.hpp"

namespace tegula::jit {

/// Counts what a block does.
struct Work {
  double product_bytes = 0;  ///< bytes of K, times rows times columns, of all products
  double operand_bytes = 0;  ///< that products read from shared memory
  double loaded_bytes = 0;   ///< from global memory, of what lies within the tensors, and stored
  double stored_bytes = 0;
  double line_bytes = 0;  ///< of the lines that loads take, with what CTAs of a cluster fetch for each other
  double functions = 0;   ///< elements of exponentials and the like
  double arithmetic = 0;  ///< elements of all other arithmetic
};

/// Describes a loop whose loads run ahead in a circular buffer.
struct Ring {
  double times = 1;   ///< that the loop runs
  double trips = 0;   ///< of each run
  double stages = 0;  ///< of the buffer
  Work iteration;
};

/// Holds what is done by the block in the middle of the grid, and what follows for the launch.
struct Estimate : Work {
  std::int64_t blocks = 1;
  std::vector<Ring> rings;
  double seconds = 0;  ///< of the launch
  [[nodiscard]] std::string str() const;
};

/// Names what runs a launch: so many multiprocessors of a target, or so many threads of a host.
struct Executor {
  TargetInfo const* target = nullptr;  ///< null: a host
  int processors = 1;
};
Executor executor_of(device where);

/// Estimates a launch. The kernel is traced, not compiled: extents and numbers take the place of its symbols, constants
/// are folded, and the ops are counted by the trips of their loops. A loop whose trips only memory knows counts once.
/// A block takes the greatest of four: its work at the rate of the tensor cores, of shared memory, of L2, and of
/// arithmetic. It takes longer where the stages of a loop do not cover the latency of its loads. Waves of blocks are at
/// least as long as all tensors at the rate of memory. Good to compare kernels, not to predict one.
Estimate estimate(trace::TracedKernel const& kernel, std::span<Argument const> arguments, GridOverride const& grid,
                  CompileOptions const& options, Executor const& executor);

}  // namespace tegula::jit
