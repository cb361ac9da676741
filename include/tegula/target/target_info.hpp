// Describes GPU architectures: limits of a CTA, matrix instructions, rates. Passes, analyses, code generation and the
// simulator read these numbers here and nowhere else. Sources: CUDA C++ Programming Guide, table of compute
// capabilities; PTX ISA, wgmma and mma; the rates are of one multiprocessor and one clock.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "tegula/support/element.hpp"
#include "tegula/support/warp.hpp"
#include "tegula/target/tuning.hpp"

namespace tegula {

/// Names what some architectures can do and others cannot. Passes, code generation and simulators ask for an ability,
/// never for an architecture. Sources: PTX ISA, the notes on targets of each instruction.
enum class Ability : std::uint8_t {
  cp_async,          ///< copies of 4 to 16 bytes by threads, in groups or counted at mbarriers
  ldmatrix,          ///< warps load 8x8 matrices from shared memory
  stmatrix,          ///< and store them
  mbarrier,          ///< arrivals and waits in shared memory
  suspended_wait,    ///< a wait at an mbarrier that suspends the thread (mbarrier.try_wait)
  expect_tx,         ///< mbarriers that count bytes
  tma,               ///< an engine that copies boxes of tensors, and adjacent bytes
  bulk_reductions,   ///< the engine combines what it copies with global memory
  clusters,          ///< CTAs that reach each other's shared memory and meet
  setmaxnreg,        ///< warpgroups hand registers to each other
  elect,             ///< an instruction that chooses a lane
  dependent_launch,  ///< a grid may begin before the one ahead of it ends
  wgmma,             ///< products of warpgroups from shared memory
  f8_conversions,    ///< instructions between e4m3 or e5m2 and wider floats
  bf16_conversions,  ///< instructions from integers and f64 to bf16
  bf16_atomics,      ///< native additions of bf16 in memory
  vector_atomics,    ///< additions to several adjacent elements at once
  block_scaled_mma,  ///< mma.sync with a scale for each block of K
  whole_f64_mma,     ///< mma.sync of f64 for 16 rows; else 8 rows are one instruction
};
inline constexpr int ability_count = static_cast<int>(Ability::whole_f64_mma) + 1;

/// Spells the abilities in messages, in the order of the enumeration.
inline constexpr std::array<std::string_view, ability_count> ability_names = {"cp.async",
                                                                              "ldmatrix",
                                                                              "stmatrix",
                                                                              "mbarrier",
                                                                              "mbarrier.try_wait",
                                                                              "mbarriers that count bytes",
                                                                              "TMA",
                                                                              "reductions by TMA",
                                                                              "clusters",
                                                                              "setmaxnreg",
                                                                              "elect.sync",
                                                                              "griddepcontrol",
                                                                              "wgmma",
                                                                              "conversions of floats of 8 bits",
                                                                              "conversions of integers and f64 to bf16",
                                                                              "atomics of bf16",
                                                                              "atomics of vectors",
                                                                              "mma.sync with block scales",
                                                                              "mma.sync of 16 rows of f64"};
constexpr std::string_view name(Ability ability) { return ability_names[static_cast<std::size_t>(ability)]; }

/// Holds a set of values of an enumeration with at most 32 of them.
template <class Value>
class EnumSet {
 public:
  constexpr EnumSet() = default;
  template <class... V>
  constexpr explicit EnumSet(Value first, V... more) : bits_((bit(first) | ... | bit(more))) {}
  [[nodiscard]] constexpr bool has(Value value) const { return (bits_ & bit(value)) != 0; }
  /// Returns the set with more values.
  template <class... V>
  [[nodiscard]] constexpr EnumSet and_also(V... more) const {
    EnumSet result = *this;
    result.bits_ |= (bit(more) | ... | 0U);
    return result;
  }
  friend constexpr bool operator==(EnumSet const&, EnumSet const&) = default;

 private:
  static constexpr std::uint32_t bit(Value value) { return std::uint32_t{1} << static_cast<int>(value); }
  std::uint32_t bits_ = 0;
};

using Abilities = EnumSet<Ability>;
using ElementSet = EnumSet<Element>;
static_assert(ability_count <= 32 && element_count <= 32, "a set of abilities or elements must have a bit for each");

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
  int capability = 0;             ///< of the oldest GPU that runs its text: 90 for 9.0
  bool only_there = false;        ///< later GPUs do not run its text
  int ptx_version = 0;            ///< of its texts, times ten: the first with its name and the instructions of all GPUs
  int f8_conversion_ptx = 0;      ///< of texts with instructions that convert floats of 8 bits
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
  Abilities abilities;
  MatrixInstruction wgmma;  ///< of a warpgroup
  MatrixInstruction mma;    ///< of a warp
  ElementSet mma_elements;  ///< that mma multiplies; f32 as tf32
  /// Counts bytes of K, times rows times columns, that the tensor cores multiply.
  double product_bytes_per_clock = 0;
  double exponentials_per_clock = 0;
  CostModel costs;
  Tuning tuning;  ///< measured constants of the passes

  [[nodiscard]] constexpr bool has(Ability ability) const { return abilities.has(ability); }
  /// Tells whether mma.sync multiplies this element.
  [[nodiscard]] constexpr bool multiplies(Element element) const { return mma_elements.has(element); }

  /// Tells whether a GPU of that compute capability (90 for 9.0) runs its text.
  [[nodiscard]] constexpr bool runs_on(int gpu) const { return only_there ? gpu == capability : gpu >= capability; }

  /// Returns the registers of each thread when a CTA of so many warps begins.
  [[nodiscard]] constexpr int registers_at_start(int warps) const {
    int const even = registers / (lanes * (warps > 0 ? warps : 1)) / register_step * register_step;
    return even < registers_per_thread ? even : registers_per_thread;
  }
  /// Returns the CTAs that a multiprocessor of every GPU that runs its text holds: some later ones hold 16, and ptxas
  /// ignores a greater number for them.
  [[nodiscard]] constexpr int resident_ctas_anywhere() const {
    constexpr int of_later_gpus = 16;
    return only_there || resident_ctas < of_later_gpus ? resident_ctas : of_later_gpus;
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

/// Gives the costs of an A100 SXM, whose pipelines are alike. Sources: NVIDIA's data sheet (boost clock 1410 MHz, 108
/// multiprocessors, 1.6 to 2.0 TB/s); latencies of shared memory (29) and global memory (466) as above.
inline constexpr CostModel sm_80_costs = [] {
  CostModel costs = sm_90a_costs;
  costs.clocks_per_ns = 1.41;
  costs.global_latency = 466;
  costs.memory_bytes_per_clock = 12;
  costs.multiprocessors = 108;
  return costs;
}();

/// Gives the costs of an A10 and its like (data sheet: 1695 MHz, 72 multiprocessors, 600 GB/s).
inline constexpr CostModel sm_86_costs = [] {
  CostModel costs = sm_80_costs;
  costs.clocks_per_ns = 1.695;
  costs.memory_bytes_per_clock = 5;
  costs.multiprocessors = 72;
  return costs;
}();

/// Gives the costs of an L40S (data sheet: 2520 MHz, 142 multiprocessors, 864 GB/s); latency of global memory (542) as
/// above, of an RTX 4090.
inline constexpr CostModel sm_89_costs = [] {
  CostModel costs = sm_80_costs;
  costs.clocks_per_ns = 2.52;
  costs.global_latency = 542;
  costs.memory_bytes_per_clock = 2.4;
  costs.multiprocessors = 142;
  return costs;
}();

/// Lists what every architecture from Ampere on can do. Texts for one of them run on all later ones.
inline constexpr Abilities ampere_abilities{Ability::cp_async, Ability::ldmatrix, Ability::mbarrier};
inline constexpr ElementSet ampere_products{Element::f16, Element::bf16, Element::f32,
                                            Element::i8,  Element::u8,   Element::f64};
inline constexpr ElementSet all_products{Element::f16, Element::bf16, Element::f32,  Element::i8,
                                         Element::u8,  Element::f64,  Element::e4m3, Element::e5m2};

/// Describes Hopper. Each of its four tensor cores does 512 dense bf16 multiply-adds a clock, twice as many of 8 bits
/// and half as many of tf32. Each quarter of a multiprocessor does 4 exponentials.
inline constexpr TargetInfo sm_90a{
    .architecture = "sm_90a",
    .capability = 90,
    .only_there = true,
    .ptx_version = 80,
    .f8_conversion_ptx = 80,
    .shared = 232448,
    .threads = 1024,
    .lanes = warp_lanes,
    .warps_per_group = isa::warps_per_group,
    .registers = 65536,
    .registers_per_thread = 255,
    .register_step = 8,
    .multiprocessors = 144,
    .resident_threads = 2048,
    .resident_ctas = 32,
    .abilities = ampere_abilities.and_also(Ability::stmatrix, Ability::suspended_wait, Ability::expect_tx, Ability::tma,
                                           Ability::bulk_reductions, Ability::clusters, Ability::setmaxnreg,
                                           Ability::elect, Ability::dependent_launch, Ability::wgmma,
                                           Ability::f8_conversions, Ability::bf16_conversions, Ability::bf16_atomics,
                                           Ability::vector_atomics, Ability::whole_f64_mma),
    .wgmma = isa::wgmma,
    .mma = isa::mma,
    .mma_elements = all_products,
    .product_bytes_per_clock = 4096,
    .exponentials_per_clock = 16,
    .costs = sm_90a_costs,
    .tuning = {},
};

/// Gives the constants of targets whose products are all of mma.sync: their operands share the registers with larger
/// sums. Checked with ptxas 13.0: attention of heads of 64 and 128 spills with parts of 128 registers.
inline constexpr Tuning sm_80_tuning = [] {
  Tuning tuning;
  tuning.max_operand_registers = 64;
  return tuning;
}();

/// Describes an A100: half of Hopper's products a clock, by mma.sync alone. Its text runs on every later GPU.
inline constexpr TargetInfo sm_80{
    .architecture = "sm_80",
    .capability = 80,
    .only_there = false,
    .ptx_version = 80,
    .f8_conversion_ptx = 81,
    .shared = 166912,
    .threads = 1024,
    .lanes = warp_lanes,
    .warps_per_group = isa::warps_per_group,
    .registers = 65536,
    .registers_per_thread = 255,
    .register_step = 8,
    .multiprocessors = 108,
    .resident_threads = 2048,
    .resident_ctas = 32,
    .abilities = ampere_abilities,
    .wgmma = {},
    .mma = isa::mma,
    .mma_elements = ampere_products,
    .product_bytes_per_clock = 2048,
    .exponentials_per_clock = 16,
    .costs = sm_80_costs,
    .tuning = sm_80_tuning,
};

/// Describes GPUs such as A10, A40 and RTX 30: less shared memory, fewer threads, half of the products.
inline constexpr TargetInfo sm_86 = [] {
  TargetInfo target = sm_80;
  target.architecture = "sm_86";
  target.capability = 86;
  target.shared = 101376;
  target.multiprocessors = 84;
  target.resident_threads = 1536;
  target.resident_ctas = 16;
  target.product_bytes_per_clock = 1024;
  target.costs = sm_86_costs;
  return target;
}();

/// Describes L4, L40 and RTX 40, which convert and multiply floats of 8 bits besides.
inline constexpr TargetInfo sm_89 = [] {
  TargetInfo target = sm_86;
  target.architecture = "sm_89";
  target.capability = 89;
  target.multiprocessors = 142;
  target.resident_ctas = 24;
  target.abilities = ampere_abilities.and_also(Ability::f8_conversions);
  target.mma_elements = all_products;
  target.costs = sm_89_costs;
  return target;
}();

/// Lists the architectures that kernels can be compiled for; the first is the default.
inline constexpr std::array<TargetInfo const*, 4> gpu_targets = {&sm_90a, &sm_80, &sm_86, &sm_89};

/// Finds the description of that architecture, of the first one for an empty name; null: kernels cannot be compiled for
/// it.
constexpr TargetInfo const* find_target(std::string_view architecture) {
  if (architecture.empty()) return gpu_targets.front();
  for (TargetInfo const* target : gpu_targets)
    if (target->architecture == architecture) return target;
  return nullptr;
}

/// Returns the target whose text serves a GPU best: its own one; else the one with the most shared memory that the GPU
/// has for a CTA, of equal ones the newest. Null: no text runs there. `capability`: 90 for 9.0; `shared`: bytes that a
/// CTA can have there.
constexpr TargetInfo const* target_for(int capability, std::int64_t shared) {
  TargetInfo const* best = nullptr;
  for (TargetInfo const* target : gpu_targets) {
    if (!target->runs_on(capability) || target->shared > shared) continue;
    if (target->capability == capability) return target;
    bool const better = best == nullptr || target->shared > best->shared ||
                        (target->shared == best->shared && target->capability > best->capability);
    if (better) best = target;
  }
  return best;
}

}  // namespace tegula
