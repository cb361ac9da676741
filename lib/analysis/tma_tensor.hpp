// Collects the facts about a tensor where TMA would copy a box of it.
#pragma once

#include "analysis/axis_facts.hpp"
#include "target/tma_copies.hpp"

namespace tegula::analysis {

/// Collects the facts of a load's or store's tensor, and of the place where its box begins.
target::TmaTensor tma_tensor(ir::Op const& access, AxisFacts const& facts);

}  // namespace tegula::analysis
