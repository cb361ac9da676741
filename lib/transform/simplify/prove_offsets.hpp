// States which offsets of boxes are never negative.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Writes the axes along which a load or store never begins before element 0, as attribute `nonnegative`. Code then
/// compares with the end of the tensor alone. Ranges prove it: a sum or product that may wrap has no such range.
///
///   before: %t = load %x, %at : tile<128xf32>        after: %t = load %x, %at {nonnegative = [0]} : tile<128xf32>
///
/// Runs last: what later passes made of an offset would have to be proven again. Needs: nothing.  Leaves: no promise.
///
/// Order: after insert-barriers and insert-proxy-fences too, since it runs last.
PassResult prove_offsets(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
