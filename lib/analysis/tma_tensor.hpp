// Collects the facts about a tensor where TMA would copy a box of it.
#pragma once

#include "analysis/axis_facts.hpp"
#include "target/tma_copies.hpp"

namespace tegula::analysis {

/// Collects the facts of a tensor, and of boxes that begin at multiples of a number of elements along its last axis; a
/// multiple of 0 is 0.
target::TmaTensor tma_tensor(ir::Value const& tensor, std::int64_t multiple, AxisFacts const& facts);

}  // namespace tegula::analysis
