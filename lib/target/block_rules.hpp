// States rules of the PTX ISA that hold on every architecture that has the instruction. The IR's verifier and the
// simulators know no architecture where they ask.
#pragma once

#include <cstdint>

#include "tegula/target/target_info.hpp"

namespace tegula::target {

/// Counts the barriers of a CTA: number 0 is the barrier of all threads, the others have their numbers as names.
inline constexpr int named_barriers = isa::named_barriers;
/// Counts the threads that a CTA has at most, on the architecture that allows most.
inline constexpr int max_threads = [] {
  int most = 0;
  for (TargetInfo const* target : gpu_targets) most = most < target->threads ? target->threads : most;
  return most;
}();
/// Counts the warps of a warpgroup.
inline constexpr int warpgroup_warps = isa::warps_per_group;
/// Returns the greatest register count of a thread that setmaxnreg accepts.
inline constexpr int max_register_count = isa::setmaxnreg.max;
/// Tells whether setmaxnreg accepts a register count.
constexpr bool is_register_count(std::int64_t count) { return isa::setmaxnreg.has(count); }
/// Returns the most columns of one wgmma, and the step of their number.
inline constexpr int max_wgmma_instruction = isa::wgmma.max_columns;
inline constexpr int wgmma_column_step = isa::wgmma.column_step;
/// Returns the rows of one wgmma.
inline constexpr int wgmma_rows = isa::wgmma.rows;

}  // namespace tegula::target
