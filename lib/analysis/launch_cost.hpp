// Counts the work of a kernel, and estimates how long a launch takes at the rates of a machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/op.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/support/extents.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::analysis {

/// Names what runs a launch: so many multiprocessors of a target, or so many threads of a host.
struct Executor {
  TargetInfo const* target = nullptr;  ///< null: a host
  int processors = 1;
};

/// States rates of one processor, per clock, and of the whole device.
struct Machine {
  double clocks_per_ns = 1;
  double processors = 1;
  double product_bytes = 1;        ///< of products
  double operand_bytes = 1;        ///< between shared memory and the tensor cores; host: the first cache
  double cached_bytes = 1;         ///< between L2 and a processor
  double busy_cached_bytes = 1;    ///< the same while most processors load
  double memory_bytes_per_ns = 1;  ///< of the device
  double functions = 1;
  double arithmetic = 1;
  double block_clocks = 0;  ///< of each block: start, first loads, end; also the latency of a load from L2
  double launch_ns = 0;
};
Machine machine_of(Executor const& executor);

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

/// Counts bytes of K, times rows times columns, of a product.
double product_bytes(ir::Op const& product);

/// Describes a tensor of a launch.
struct TensorSize {
  Element element = Element::f32;
  Extents extents;
  Extents strides;
};

/// Estimates a launch of a kernel whose extents, numbers and block indices are those of the block in the middle of the
/// grid, and folded. `tensors`: of each parameter, without extents where it is a scalar. Ops are counted by the trips
/// of their loops; a loop whose trips only memory knows counts once. A block takes the greatest of four: its work at
/// the rate of the tensor cores, of shared memory, of L2, and of arithmetic. It takes longer where the stages of a loop
/// do not cover the latency of its loads. Waves of blocks are at least as long as all tensors at the rate of memory.
/// Good to compare kernels, not to predict one.
Estimate estimate(ir::Function& kernel, std::vector<TensorSize> const& tensors, std::vector<std::int64_t> grid,
                  CompileOptions const& options, Executor const& executor);

}  // namespace tegula::analysis
