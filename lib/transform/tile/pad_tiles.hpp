// Pads tiles whose extents have large odd factors, which lanes and warps do not share.
#pragma once

#include "transform/pass.hpp"

namespace tegula::transform {

/// Gives an axis the next extent with an odd factor of at most 7, where its own factor is above 15: 1000 becomes 1024,
/// and 131 becomes 160. Loads and stores access the part that was there. Reductions and scans take the neutral element
/// behind it, and indices there are outside the tensor.
///
///   before: %x = load %A, %row, %zero : tile<1x1000xf32>
///           %m = reduce %x {axis = 1, combine = max} : tile<1x1xf32>
///   after:  %x = load %A, %row, %zero {part = [1, 1000]} : tile<1x1024xf32>
///           %c = iota {axis = 1} : tile<1x1024xi32>
///           %inside = compare %c, 1000 {predicate = lt} : tile<1x1024xbool>
///           %y = select %inside, %x, nan : tile<1x1024xf32>
///           %m = reduce %y {axis = 1, combine = max} : tile<1x1xf32>
///
/// An extent stays as it is in the whole function if some tile with it meets an op whose elements are not padded so: a
/// product, a call or a change of shape. The bits of pairwise reductions stay: the neutral element changes
/// none. Leaves: no promise.
PassResult pad_tiles(ir::Function& function, AnalysisCache& analyses, PassContext& context);

}  // namespace tegula::transform
