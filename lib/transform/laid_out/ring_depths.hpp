// Decides how many stages the rings of a kernel have.
#pragma once

#include <vector>

#include "transform/laid_out/ring_sites.hpp"

namespace tegula::transform {

/// Sets stages, bytes and shares of rings (circular_buffer.hpp says by which rules). False: the stages that a loop asks
/// for do not fit, which is reported.
bool choose_depths(std::vector<RingGroup>& groups, ir::Function& function, PassContext& context);

}  // namespace tegula::transform
