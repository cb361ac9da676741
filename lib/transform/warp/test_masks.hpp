// Computes masks of single blocks only where a test finds that they matter.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Computes a mask of coordinates that may hold everywhere, outside of loops but those over tiles, only where it does
/// not: of the blocks that skew-dots takes out of a loop few meet a border.
///
///   before: %v = compare %column, splat %b {lt}          after: %all = 127 - %b < 0
///           %s = select %v, %x, %hidden                         %s = if %all { %x } else { select %v, %x, %hidden }
///
/// Needs: layouts. Leaves: no promise.
PassResult test_masks(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform
