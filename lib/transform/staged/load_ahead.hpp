// Loads what nothing copies one iteration ahead of its use.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Moves loads through pointers one iteration ahead, in loops that have a ring or for which stages are asked: their
/// tiles and scalars wait in registers while the iteration before is computed.
///
///   before: for %i = %lo to %hi step %s stages {     after: %first = load %t, f(%lo)
///             %x = load %t, f(%i)                           for %i = %lo to %hi step %s carry (%x = %first) {
///             ... uses of %x ...                              %next = load %t, f(%i + %s), at the end f(%i) again
///           }                                                 ... uses of %x ...
///                                                             yield %next
///                                                           }
///
/// Only loads of tensors that the kernel does not write, whose places follow from the counter alone, and as many as the
/// registers of the thread hold beside what is alive in the loop.
PassResult load_ahead(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
