// Lets products that add to one sum, one after the other, take their operands from one ring.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Gives one ring to the fetches that feed the same operand of a chain of products in a loop (unrolled taps, parts of
/// K). Each fetch moves in front of its product, so that few stages are filled at a time.
///
///   before: %w0 = fetch %W, 0, %c    %w1 = fetch %W, 1, %c        after: %w0 = fetch %W, 0, %c {ring = 1}
///           %s0 = dot %x0, %w0, %sum                                     %s0 = dot %x0, %w0, %sum
///           %s1 = dot %x1, %w1, %s0                                      %w1 = fetch %W, 1, %c {ring = 1}
///           yield %s1                                                    %s1 = dot %x1, %w1, %s0
///
/// Only for fetches of one type, each read by its product alone, and for sums that the loop carries. Needs:
/// whole-kernels. Leaves: no promise.
PassResult share_rings(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
