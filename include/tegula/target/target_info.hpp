// Describes GPU architectures: limits of a CTA, matrix instructions, rates. Passes, analyses, code generation and the
// simulator read these numbers here and nowhere else. Sources: CUDA C++ Programming Guide, table of compute
// capabilities; PTX ISA, wgmma and mma; the rates are of one multiprocessor and one clock.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace tegula {

/// Gives the shape of one matrix instruction: `rows` x N x K. N is a multiple of `column_step` up to `max_columns`; K
/// fills `depth_bytes` bytes of the operands' elements.
struct MatrixInstruction {
  int rows = 0;  ///< 0: the architecture lacks the instruction
  int column_step = 0;
  int max_columns = 0;
  int depth_bytes = 0;
  int extra_registers = 0;  ///< of a thread, which the assembler needs besides accumulators
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

  /// Gives the registers of each thread when a CTA of so many warps begins.
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

/// Gives the register counts that setmaxnreg accepts: multiples of `step` from `min` to `max`.
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

/// Describes Hopper. Each of its four tensor cores does 512 dense bf16 multiply-adds a clock, twice as many of 8 bits
/// and half as many of tf32. Each quarter of a multiprocessor does 4 exponentials.
inline constexpr TargetInfo sm_90a{
    .architecture = "sm_90a",
    .shared = 232448,
    .threads = 1024,
    .lanes = 32,
    .warps_per_group = 4,
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
