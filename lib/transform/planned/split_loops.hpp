// Splits loops where their masks begin to matter.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Splits a loop with products where a mask is true everywhere in the iterations up to some index.
///
///   before: for %i = %lo to %hi ... {                  after: for %i = %lo to %mid ... {        (%mid: computed)
///             %at = %column + 128 * %i                          ... select true, %x, %y ...      folds to %x
///             %m = compare %at, %length {lt}                  }
///             ... select %m, %x, %y ...                       for %i = %mid to %hi ... {         as it was
///           }                                                   ...
///                                                             }
///
/// A mask is a comparison of coordinates (iota, sums, multiples of the index, values from outside) that can only turn
/// false as the index grows. With several masks the loop parts where the first of them begins to matter. A loop with
/// masks that can only turn true is split where the last of them is true everywhere; its rest, without these masks, is
/// then split for the others. Fetches of the loops share their rings. Needs: whole-kernels. Leaves: no promise.
PassResult split_loops(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
