// Decides how a kernel's products are multiplied, and by how many warps.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Searches the kernel's plan (transform/common/kernel_plan.hpp) and writes it: on each dot its path, the arrangement
/// of the warps, the places of its operands and what keeps it from wgmma; on the kernel its warps.
///
///   before: %d = dot %a, %b, %acc : tile<64x512xf32>
///   after:  %d = dot %a, %b, %acc {path = wgmma, left = copied, right = copied, warps = [4, 2]} : tile<64x512xf32>
///
/// A kernel without products only gets its warps. Needs: nothing. Leaves: planned-dots.
PassResult plan_kernel(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
