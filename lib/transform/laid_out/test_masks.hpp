// Computes masks of single blocks only where a test finds that they matter.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Computes a mask of coordinates only where it hides an element, outside of loops other than those over tiles. Few of
/// the blocks that skew-dots takes out of a loop are at a border.
///
///   before: %v = compare %column, splat %b {lt}          after: %all = 127 - %b < 0
///           %s = select %v, %x, %hidden                         %s = if %all { %x } else { select %v, %x, %hidden }
///
/// Needs: layouts. Leaves: no promise.
PassResult test_masks(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
