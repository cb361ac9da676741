// Divides blocks whose sums no warps hold.
#pragma once

#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Halves the rows of a block (else its columns) until warps can hold the sums of its products in registers: a block of
/// 128 x 512 sums becomes two of 64 x 512. The grid has twice the blocks along its first axis; two neighbours share
/// what they load. The number of elements and their bits stay: no element of a part follows from another part.
///
///   before: grid %n
///           %b = block_index {axis = 0} : i64
///           %row = mul %b, 128
///           %a = load %A, %row, %k : tile<128x64xbf16>
///   after:  grid %n * 2
///           %i = block_index {axis = 0} : i64
///           %b = div %i, 2
///           %first = rem %i, 2 * 64
///           %row = mul %b, 128
///           %a = load %A, %row + %first, %k : tile<64x64xbf16>
///
/// A block stays whole if
/// - the axis is reduced, or AxisDivision does not divide it,
/// - an effect does not go along it: an atomic of a scalar would happen twice.
///
/// Leaves: no promise.
PassResult divide_blocks(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
