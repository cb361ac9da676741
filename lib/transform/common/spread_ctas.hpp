// Counts the CTAs of a cluster that share the rows of a kernel.
#pragma once

#include <cstdint>

#include "ir/core/op.hpp"
#include "tegula/abi/compile_options.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::transform {

/// Finds the tile of a function with most elements; null: there is none.
ir::Value const* largest_tile(ir::Function& function);

/// Returns the CTAs among which spread-rows divides the largest tile of a kernel: as few as hold it with 32 elements a
/// thread of 16 warps, and at most 8, or as many as CompileOptions::split states. 1: one CTA holds it, or the kernel
/// has no grid, or ops that do not run alike in all CTAs: products, loops, branches, copies.
std::int64_t ctas_of_rows(ir::Function& function, CompileOptions const& options, TargetInfo const& target);

}  // namespace tegula::transform
