// Lowers products of tiles to products of the tensor cores.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Turns every dot into a wgmma of all warps of the CTA, issued, committed and waited for.
///
///   before: %r = for ... carry (%sum = %zero) : tile<128x256xf32> {
///             %next = dot %a, %b, %sum : tile<128x256xf32>
///             yield %next
///           }
///   after:  %start = wgmma_fence %zero_laid_out : pending<128x256xf32, wgmma(8)>
///           %p = for ... carry (%sum = %start) : pending<128x256xf32, wgmma(8)> {
///             %s = wgmma_fence %sum {purpose = schedule} : pending<128x256xf32, wgmma(8)>
///             %next = wgmma %fetched_a, %fetched_b, %s : pending<128x256xf32, wgmma(8)>
///             wgmma_commit
///             wgmma_wait {pending = 1}
///             yield %next
///           }
///           %r0 = wgmma_wait %p : tile<128x256xf32, wgmma(8)>
///           %r = convert_layout %r0 : tile<128x256xf32>
///
/// An accumulator that only the loop and its product touch stays pending over the loop's iterations: product i runs
/// while product i + 1 is issued. The wait in the loop leaves as many groups open as one iteration commits. Other
/// products are waited for before the first op that needs them done. A product that adds to the previous one, whose
/// result nothing else reads, joins its group. PTX needs no wait between products of one shape on the same
/// accumulators.
///
/// Operands are read in place: fetched tiles (transposed ones too) from shared memory, other left operands from
/// registers in the layout wgmma_a. A computed operand is stored to a buffer of its own where the plan says so,
/// swizzled as wgmma reads it. Its product is waited for in the same iteration. Tiles without a layout meet those of
/// products at convert_layout. By the plan a product becomes an mma of registers, warp by warp, or multiply-adds of
/// lanes, an element of K at a time. Needs: whole-kernels, planned-dots. Leaves: no-dots.
///
/// Order: free after narrow-masks.
PassResult schedule_dots(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
