// Limits registers so that memory-bound kernels reach the wanted occupancy.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// States the CTAs that fill a multiprocessor with 32 warps, or with as many as the tiles' registers allow. The
/// assembler keeps registers within that. Left alone it takes more to overlap the arithmetic of one thread, where the
/// loads of other warps hide more.
///
///   before: kernel @rows(...) warps = 4            after: kernel @rows(...) warps = 4 ctas = 8
///
/// Only kernels that load, copy, compute elements, reduce, store and hand results of reductions to other CTAs, without
/// exchanges. With loops only where rings feed them, and at most two CTAs, if the rings fit. Two CTAs are asked for
/// where a fourth too many registers are foretold, too: one CTA alone waits for its own loads. Long arithmetic and
/// elements of 64 bits count only where a thread does a few elements at a time: elsewhere they have registers that the
/// estimate does not know. Kernels that rank elements or put them at places count whatever else they do: one CTA alone
/// waits at their barriers. Needs: layouts. Leaves: no promise.
PassResult limit_registers(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
