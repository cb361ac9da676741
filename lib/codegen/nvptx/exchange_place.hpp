// Finds the place in shared memory at which a warp exchanges partial results of a reduction or a scan.
#pragma once

#include <algorithm>

#include "codegen/nvptx/emitter.hpp"
#include "ir/memory/exchange.hpp"

namespace tegula::codegen::nvptx {

/// Orders coordinates of one rank.
struct ByCoordinates {
  bool operator()(Extents const& a, Extents const& b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
  }
};

/// Returns the row-major index, without `axis`, of the line through this thread's element at the register part `at`.
llvm::Value* index_without(Emitter& e, layout::Layout const& layout, int axis, Extents const& at);

/// Returns this warp's place among the combined ones, in ascending order of coordinate.
llvm::Value* warp_position(Emitter& e, layout::Layout const& layout, int axis, ir::ReductionStep const& step);

}  // namespace tegula::codegen::nvptx
