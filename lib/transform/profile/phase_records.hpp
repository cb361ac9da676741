// Records the phases of a kernel that the passes made.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Inserts records around the phases of a kernel in its final form, for each role of its warps; returns true if there
/// are some. Phases are runs of ops of one kind in a block, with the scalar ops between them:
///
///   mbarrier_wait %empty, %p             record {name = "A, B", about = wait_empty}
///   mbarrier_expect %full ...            mbarrier_wait %empty, %p
///   tma_load %map_A, ... %full     =>    record {event = stop, name = "A, B", about = wait_empty}
///   tma_load %map_B, ... %full           record {name = "A, B", about = fill}
///                                        mbarrier_expect %full ...
///
/// The fence of a product belongs to its issue. Arithmetic goes on through the wait for a product that runs beside it.
/// Waits, fills and products have the names of the tensors whose copies they belong to, stores that of the tensor, and
/// arithmetic that of its source line. Loops over tiles and the code between a product's loop and the end of its tile
/// are phases around these.
bool insert_phase_records(ir::Function& kernel);

/// Inserts records around the loops and stores of a kernel of tile ops, which the host runs.
bool insert_tile_records(ir::Function& kernel);

}  // namespace tegula::transform
