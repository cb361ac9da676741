// Replaces calls with the callees' bodies.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces each call by the callee's body, except calls of functions that remain. Erases functions that no kernel
/// calls any more, if the module has a kernel. Functions marked noinline remain. So do functions without either mark
/// whose copies would make the code grow by more than 128 ops; those marked inline never do. Needs: nothing.  Leaves:
/// only calls of functions that remain.
///
/// Order: free after specialize, whose attributes inlined loops keep.
PassResult inline_functions(ir::Module& module, PassContext& context);

/// Does the same for kernels of a GPU. No function remains where the kernel has products, loops with stages or a loop
/// over tiles: passes make rings, roles of warps and products of tensor cores of them, and must see loops whole.
/// Leaves: whole-kernels.
PassResult inline_device_functions(ir::Module& module, PassContext& context);

}  // namespace tegula::transform
