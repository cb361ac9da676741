// Collects the facts about a tensor where TMA would copy a box of it.
#pragma once

#include "analysis/axis_facts.hpp"
#include "target/tma_copies.hpp"

namespace tegula::analysis {

/// Of the tensor of a load or store, and of where its box begins.
target::TmaTensor tma_tensor(ir::Op const& access, AxisFacts const& facts);

}  // namespace tegula::analysis
