// Computes tiles that depend on no argument when a kernel is compiled.
#pragma once

#include "ir/core/builder.hpp"
#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Replaces tiles of floats that follow from constants and coordinates alone by tables, if they take more arithmetic
/// than a load: windows, twiddle factors, matrices of a discrete transform. Elements are computed as the simulator and
/// the host do, so they have the same bits on every executor. A tile of more than 64 KiB stays as it is, as does one
/// with a NaN.
///
///   before: %c = cast (iota {axis = 0}) : tile<2048xf32>
///           %w = cos (%c * 0.003) : tile<2048xf32>
///   after:  %w = table {data = "..."} : tile<2048xf32>
PassResult fold_tables(ir::Function& function, PassContext& context);

}  // namespace tegula::transform
