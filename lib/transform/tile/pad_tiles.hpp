// Pads tiles: to extents that lanes and warps share, and to extents that tensor cores multiply.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Gives an axis the next extent with an odd factor of at most 7, where its own factor is above 15. So 1000 becomes
/// 1024, and 131 becomes 160. Loads and stores access the part that was there. Reductions and scans take the neutral
/// element behind it, and indices there are outside the tensor.
///
///   before: %x = load %A, %row, %zero : tile<1x1000xf32>
///           %m = reduce %x {axis = 1, combine = max} : tile<1x1xf32>
///   after:  %x = load %A, %row, %zero {part = [1, 1000]} : tile<1x1024xf32>
///           %c = iota {axis = 1} : tile<1x1024xi32>
///           %inside = compare %c, 1000 {predicate = lt} : tile<1x1024xbool>
///           %y = select %inside, %x, nan : tile<1x1024xf32>
///           %m = reduce %y {axis = 1, combine = max} : tile<1x1xf32>
///
/// A resize and the axis that it lengthens or cuts go where that axis may have the larger extent.
///
/// Products whose elements tensor cores multiply, but not their extents, get the next extents that mma takes. Operands
/// are zero behind their part of K; loads may read rows and columns behind theirs.
///
///   before: %a = load %A, %row, %zero : tile<1x20xbf16>
///           %d = dot %a, %b, %acc : tile<1x64xf32>
///   after:  %a = load %A, %row, %zero {part = [8, 20]} : tile<8x32xbf16>
///           %d = dot %a, %b, %acc : tile<8x64xf32>
///
/// An axis stays as it is if some op needs this very extent (AxisClasses). The bits of pairwise reductions stay: the
/// neutral element changes none. Leaves: no promise.
///
/// Order: free after relax-arithmetic, which reads no extents, and expand-dots, since products of tf32 and of tf32x3
/// have the same extents.
PassResult pad_tiles(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
