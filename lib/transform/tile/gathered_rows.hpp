// Recognises gathers of whole rows, which threads can copy into a ring of stages.
#pragma once

#include <optional>
#include <vector>

#include "analysis/axis_facts.hpp"
#include "ir/core/op.hpp"

namespace tegula::transform {

/// Lists where the rows of a matrix begin in a tensor: along each axis a tile of one column, or a scalar. The last axis
/// has a scalar.
struct GatheredRows {
  std::vector<ir::Value*> starts;
};

/// Returns the starts of the rows that a gather takes: nothing if it is not one of whole rows, or if threads cannot
/// copy them 16 bytes at a time. Their arithmetic is computed again in front of the gather's own, for tiles of one
/// column, from loads of constant tensors.
///
///   %r = broadcast %rows : tile<128x64xi32>   (of tile<128x1xi32>)
///   %c = broadcast (iota {axis = 1} + %k) : tile<128x64xi32>
///   %a = gather %A, %r, %c : tile<128x64xf16>               starts: %rows, %k
std::optional<GatheredRows> gathered_rows(ir::Op& gather, analysis::AxisFacts const& facts);

}  // namespace tegula::transform
