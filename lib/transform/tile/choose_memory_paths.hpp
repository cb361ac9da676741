// Chooses the loads that go through TMA, and the gathers and loads that threads copy.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Turns loads that feed a product, and loads in loops with stages, into copies of the TMA engine where its rules
/// allow.
///
///   before: %a = load %A, %i, %k : tile<128x64xbf16>
///   after:  %map = tensor_map %A {box = [128, 64], swizzle = b128} : tensor_map<128x64xbf16>   (at the kernel's start)
///           %f = fetch %map, %i, %k : shared<128x64xbf16, swizzled(128)>
///           %a = buffer_load %f : tile<128x64xbf16>
///
/// A pad other than 0 is put in by a select after the copy, which makes zeros, except for operands of products. Those
/// of tensor cores are swizzled as widely as their rows allow, so that wgmma can read them; others lie dense. A load
/// that only a rule of TMA keeps from this stays as it is and says which: `by_pointer = "address(2)"`. The rules ask
/// for facts of the tensor's parameter (unit_inner, aligned_16) and for axis facts. Needs: whole-kernels. Leaves:
/// tensor maps, fetches, and no promise about the loads that are left.
///
/// A gather of rows that feeds a product in a loop becomes a fetch from its tensor, too, if 16 bytes are aligned and
/// adjacent (gathered_rows.hpp). Threads copy the rows, with zeros for those outside of the tensor:
///
///   before: %a = gather %A, %rows, %columns : tile<128x64xbf16>
///   after:  %f = fetch %A, %one_column_of_rows, %k : shared<128x64xbf16, swizzled(128)>
///
/// A load that feeds a product of warpgroups in a loop, and that only its tensor's address and strides or its own place
/// keep from the TMA engine, becomes a fetch of the pieces of 16 bytes that cover its rows. Threads copy and shift
/// them:
///
///   before: %a = load %A, %i, %k : tile<128x64xbf16>
///   after:  %f = fetch %A, %i, %k : shared<128x72xbf16, dense>
///           %a = shifted_load %f, %A, %i, %k : tile<128x64xbf16>
///
/// Order: free after hoist-loop-invariants.
PassResult choose_memory_paths(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
