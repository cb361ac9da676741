// Describes GPU architectures: limits of a CTA, matrix instructions, rates. Passes, analyses, code generation and the
// simulator read these numbers here and nowhere else. Sources: CUDA C++ Programming Guide, table of compute
// capabilities; PTX ISA, wgmma and mma; the rates are of one multiprocessor and one clock.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tegula {

/// States the shape of one matrix instruction: `rows` x N x K. N is a multiple of `column_step` up to `max_columns`; K
/// fills `depth_bytes` bytes of the operands' elements.
struct MatrixInstruction {
  int rows = 0;  ///< 0: the architecture lacks the instruction
  int column_step = 0;
  int max_columns = 0;
  int depth_bytes = 0;
  int extra_registers = 0;  ///< of a thread, which the assembler needs besides accumulators
};

/// States the cost of instructions, in clocks of one multiprocessor: the model behind the simulator's virtual time. It
/// has no caches and no rival multiprocessors; a schedule can be judged by it, a speed cannot.
struct CostModel {
  double clocks_per_ns = 1;
  int schedulers = 4;          ///< of a multiprocessor: each starts one instruction of one of its warps a clock
  int arithmetic_latency = 0;  ///< from the start of an instruction to the use of its result
  int function_latency = 0;    ///< of exp2, rsqrt and the like
  int shuffle_latency = 0;     ///< between lanes
  int shared_latency = 0;      ///< of a load from shared memory
  int global_latency = 0;      ///< of a load from global memory
  int copy_latency = 0;        ///< from a TMA or bulk copy's start to its mbarrier, without the time of its bytes
  int store_latency = 0;       ///< from the start of a TMA or bulk store until its source is read
  int peer_latency = 0;        ///< to another multiprocessor of the cluster
  int product_latency = 0;     ///< from the end of a product on the tensor core to its wait
  int barrier_latency = 0;     ///< from the last arrival at a barrier of warps to the first instruction after it
  int mbarrier_latency = 0;    ///< the same for an mbarrier
  double record_clocks = 0;    ///< of one record of a profiled kernel (lib/doc/profiling.md)
  int copy_issue = 0;          ///< for the warp that starts a TMA or bulk copy
  double shared_bytes_per_clock = 1;
  double global_bytes_per_clock = 1;  ///< between L2 and one multiprocessor
  double memory_bytes_per_clock = 1;  ///< of the device's memory, for each multiprocessor
  double launch_ns = 0;               ///< of each launch
  int multiprocessors = 1;            ///< that run CTAs at once
};

struct TargetInfo {
  std::string_view architecture;  ///< as the assembler spells it
  std::int64_t shared = 0;        ///< bytes of dynamic shared memory that a CTA can have
  int threads = 0;                ///< that a CTA can have
  int lanes = 0;                  ///< threads of a warp
  int warps_per_group = 0;        ///< warps of a warpgroup
  int registers = 0;              ///< of 32 bits, of all threads of a CTA together
  int registers_per_thread = 0;   ///< that one thread can name
  int register_step = 0;          ///< registers are handed out to threads in multiples of this
  int multiprocessors = 0;        ///< that any such device has, at most
  int resident_threads = 0;       ///< that a multiprocessor runs at once, at most
  int resident_ctas = 0;          ///< the same
  MatrixInstruction wgmma;        ///< of a warpgroup
  MatrixInstruction mma;          ///< of a warp
  /// Counts bytes of K, times rows times columns, that the tensor cores multiply.
  double product_bytes_per_clock = 0;
  double exponentials_per_clock = 0;
  bool tma = false;  ///< has an engine that copies boxes of tensors
  CostModel costs;

  /// Returns the registers of each thread when a CTA of so many warps begins.
  [[nodiscard]] constexpr int registers_at_start(int warps) const {
    int const even = registers / (lanes * (warps > 0 ? warps : 1)) / register_step * register_step;
    return even < registers_per_thread ? even : registers_per_thread;
  }
  [[nodiscard]] constexpr int threads_per_group() const { return lanes * warps_per_group; }
};

/// Holds rules of the PTX ISA, the same on every architecture that has the instruction.
namespace isa {

inline constexpr MatrixInstruction wgmma{
    .rows = 64, .column_step = 8, .max_columns = 256, .depth_bytes = 32, .extra_registers = 26};
inline constexpr MatrixInstruction mma{.rows = 16, .column_step = 8, .max_columns = 8, .depth_bytes = 32};

/// Counts the barriers of a CTA: number 0 is the barrier of all threads, the others have their numbers as names.
inline constexpr int named_barriers = 16;
inline constexpr int warps_per_group = 4;  ///< of a warpgroup

/// States the register counts that setmaxnreg accepts: multiples of `step` from `min` to `max`.
struct SetmaxnregCounts {
  int min = 24;
  int max = 256;
  int step = 8;
  [[nodiscard]] constexpr bool has(std::int64_t count) const {
    return count >= min && count <= max && count % step == 0;
  }
};
inline constexpr SetmaxnregCounts setmaxnreg;

}  // namespace isa

/// States the costs of an H100 or H200 SXM. Sources:
/// - clocks per ns, multiprocessors: NVIDIA's data sheets, boost clock 1755 MHz and 132 multiprocessors.
/// - schedulers, bytes of shared memory per clock (32 banks of 4 bytes): CUDA C++ Programming Guide.
/// - bytes of global memory per clock: the port of one multiprocessor to L2, as NVIDIA states it for A100.
/// - latencies of shared memory (29), global memory (479) and the cluster (180): microbenchmarks of Luo et al. (2024),
///   "Benchmarking and Dissecting the Nvidia Hopper GPU Architecture via Microbenchmarking".
/// - arithmetic (4), functions and shuffles (24): microbenchmarks of Volta and Ampere, whose pipelines are alike.
/// - bytes of the device's memory: 3.3 to 4.8 TB/s, of 132 multiprocessors.
/// - all others are estimates.
inline constexpr CostModel sm_90a_costs{
    .clocks_per_ns = 1.755,
    .schedulers = 4,
    .arithmetic_latency = 4,
    .function_latency = 24,
    .shuffle_latency = 24,
    .shared_latency = 29,
    .global_latency = 479,
    .copy_latency = 600,
    .store_latency = 250,
    .peer_latency = 180,
    .product_latency = 32,
    .barrier_latency = 20,
    .mbarrier_latency = 20,
    .record_clocks = 20,
    .copy_issue = 20,
    .shared_bytes_per_clock = 128,
    .global_bytes_per_clock = 64,
    .memory_bytes_per_clock = 20,
    .launch_ns = 1000,
    .multiprocessors = 132,
};

/// Describes Hopper. Each of its four tensor cores does 512 dense bf16 multiply-adds a clock, twice as many of 8 bits
/// and half as many of tf32. Each quarter of a multiprocessor does 4 exponentials.
inline constexpr TargetInfo sm_90a{
    .architecture = "sm_90a",
    .shared = 232448,
    .threads = 1024,
    .lanes = 32,
    .warps_per_group = isa::warps_per_group,
    .registers = 65536,
    .registers_per_thread = 255,
    .register_step = 8,
    .multiprocessors = 144,
    .resident_threads = 2048,
    .resident_ctas = 32,
    .wgmma = isa::wgmma,
    .mma = isa::mma,
    .product_bytes_per_clock = 4096,
    .exponentials_per_clock = 16,
    .tma = true,
    .costs = sm_90a_costs,
};

/// Lists the architectures that kernels can be compiled for; the first is the default.
inline constexpr std::array<TargetInfo const*, 1> gpu_targets = {&sm_90a};

/// Finds the description of that architecture, of the first one for an empty name; null: kernels cannot be compiled for
/// it.
constexpr TargetInfo const* find_target(std::string_view architecture) {
  if (architecture.empty()) return gpu_targets.front();
  for (TargetInfo const* target : gpu_targets)
    if (target->architecture == architecture) return target;
  return nullptr;
}

}  // namespace tegula
