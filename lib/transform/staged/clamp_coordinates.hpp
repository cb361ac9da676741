// Clamps coordinates of TMA copies to 32 bits.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Clamps coordinates of TMA copies that may not fit 32 bits to where the copy lies outside the tensor as well.
///
///   before: tma_load %map, %buffer, %full, %row, %at      after: %least = max %row, -2146435072
///                                                                %clamped = min %least, 2146435072
///                                                                tma_load %map, %buffer, %full, %clamped, %at
///
/// The bound is the greatest extent that tensor maps take. So a copy that begins there finds nothing, like one that
/// begins before its negative. Where axis facts prove a side, it costs nothing. Runs last: analyses of accesses should
/// see the offsets as they are written. Needs: no-fetches. Leaves: coordinates that fit.
///
/// Order: free after carry-remainders.
PassResult clamp_coordinates(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
