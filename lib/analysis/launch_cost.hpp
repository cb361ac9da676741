// Counts the work of a kernel, and estimates how long a launch takes at the rates of a machine.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ir/core/op.hpp"
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
  double memory_bytes_per_ns = 1;  ///< of the device
  double functions = 1;
  double arithmetic = 1;
  double block_clocks = 0;  ///< of each block: start, first loads, end; also the latency of a load from L2
  double launch_ns = 0;
};
Machine machine_of(Executor const& executor);

/// Counts the CTAs that a device runs at once in clusters of so many: groups of multiprocessors whose number is no
/// multiple of it leave some idle. Measured on an H200, whose 132 hold 39 clusters of 3, 30 of 4 and 15 of 8.
int ctas_in_clusters(Executor const& executor, int cluster);

/// Bytes of shared memory that the parts of a sum may have which a CTA receives from the others of its cluster; rings
/// need the rest. A product with larger parts is not split.
inline constexpr std::int64_t max_part_bytes = std::int64_t{64} << 10;

/// Columns that the share of a CTA has at least where each adds and stores its own: those of 2 bytes fill a sector of
/// memory. One CTA adds the parts of narrower sums.
inline constexpr std::int64_t min_share_columns = 16;

/// States what a GPU's launches cost beside the rates of its data sheet, in clocks of a multiprocessor.
struct LaunchCosts {
  double line = 0;            ///< of a line of 128 bytes between L2 and a multiprocessor
  double outside_line = 0;    ///< of a line of a box that lies outside of the tensor: a copy writes zeros
  double pair = 1;            ///< by which both grow where two multiprocessors with a common port work
  double latency = 0;         ///< from the start of a load to the use of its stage
  double start = 0;           ///< of a launch's first blocks, with their end
  double wave = 0;            ///< of each further wave of blocks, as far as it is not hidden
  double exchange = 0;        ///< for CTAs that hand on their parts of a sum
  double exchange_cta = 0;    ///< for each more of them
  double exchange_bytes = 1;  ///< of these parts, a clock
  double products = 1;        ///< share of the tensor cores' rate that a loop of products reaches
  double narrow = 0;          ///< of an access of a warp to elements whose rows are not multiples of 16 bytes
  double narrow_wait = 0;     ///< from such a load to its use, an iteration later
  double alone_bytes = 1;     ///< from memory to a multiprocessor whose neighbour idles, a nanosecond
  double pair_bytes = 1;      ///< and to two neighbours
  double hindrance = 0;       ///< share of the lesser of memory and multiprocessors that does not hide behind the other
};

/// Fitted to products of sizes drawn by a seed on an H200: `bench_gpu_sizes --fit`.
inline constexpr LaunchCosts hopper_costs{.line = 0.65,
                                          .outside_line = 2.5,
                                          .pair = 2.8,
                                          .latency = 1130,
                                          .start = 2150,
                                          .wave = 900,
                                          .exchange = 1700,
                                          .exchange_cta = 200,
                                          .exchange_bytes = 28,
                                          .products = 0.95,
                                          .narrow = 0.7,
                                          .narrow_wait = 2000,
                                          .alone_bytes = 78,
                                          .pair_bytes = 93,
                                          .hindrance = 0.37};

/// Counts what a block does.
struct Work {
  double product_bytes = 0;  ///< bytes of K, times rows times columns, of all products
  double operand_bytes = 0;  ///< that products read from shared memory, and that are moved there to be read
  double loaded_bytes = 0;   ///< from global memory, of what lies within the tensors, and stored
  double stored_bytes = 0;
  double lines = 0;  ///< of 128 bytes that loads and stores take, less what CTAs of a cluster fetch for each other
  double outside_lines = 0;  ///< of loaded boxes that lie outside of the tensor
  double narrow = 0;         ///< accesses of a warp to elements whose rows are not multiples of 16 bytes
  double functions = 0;      ///< elements of exponentials and the like
  double arithmetic = 0;     ///< elements of all other arithmetic
};

/// Adds the work of `times` times another one.
void add(Work& found, Work const& other, double times);

/// Describes a loop with loads.
struct Ring {
  double times = 1;   ///< that the loop runs
  double trips = 0;   ///< of each run
  double stages = 0;  ///< of the circular buffer in which its loads run ahead; 0: not said
  Work iteration;
};

/// Holds the work of one op of the kernel, of all the times that a block runs it.
struct WorkOfOp {
  ir::OpKind kind = ir::OpKind::LoadOp;
  location where;
  int parameter = -1;  ///< number of the tensor that it accesses; -1: none
  int ring = -1;       ///< number of the innermost loop with loads that it stands in; -1: none
  double times = 1;
  Element element = Element::f32;  ///< of the tile that it moves, of a product's operands, or of its result
  double elements = 0;             ///< of the tile
  Work work;
};

/// Bytes of shared memory that are read and written for a byte that is shifted: two words, and the shifted one.
inline constexpr double bytes_of_shift = 3;

/// Returns the bytes of shared memory that warps move to shift what a load brings; 0: it needs no shift.
inline double shifted_bytes(WorkOfOp const& op) { return op.kind == ir::OpKind::LoadOp ? op.work.operand_bytes : 0; }

/// Holds what is done by the block in the middle of the grid, and what follows for the launch.
struct Estimate : Work {
  std::int64_t blocks = 1;
  double resident = 1;  ///< CTAs that share a multiprocessor, where it is known: each hides what another one waits for
  std::vector<Ring> rings;
  std::vector<WorkOfOp> ops;  ///< products, accesses of tiles, and arithmetic
  double split = 1;           ///< CTAs that divide the trips of a product's loop
  int cluster = 1;            ///< CTAs that split or share
  double part_bytes = 0;      ///< of sums that they hand on for each tile
  double tensor_bytes = 0;    ///< of all tensors
  double seconds = 0;         ///< of the launch
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

/// Returns the seconds of a launch whose work is counted.
double seconds_of(Estimate const& work, Executor const& executor, LaunchCosts const& costs = hopper_costs);

}  // namespace tegula::analysis
