// What is known of a tensor where TMA would copy a box of it.
#pragma once

#include "analysis/axis_facts.hpp"
#include "ir/tma_copies.hpp"

namespace tegula::analysis {

/// Of the tensor of a load or store, and of where its box begins.
ir::TmaTensor tma_tensor(ir::Op const& access, AxisFacts const& facts);

}  // namespace tegula::analysis
