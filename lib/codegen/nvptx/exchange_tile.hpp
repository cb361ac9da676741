// Moves the elements of a tile to the threads that hold them in the result of a shape op.
#pragma once

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Gives the op its result if each thread has its elements already; false: it does not.
bool move_tile_within_threads(ir::Op const& op, Emitter& e);

/// Does the same if lanes of a warp trade their elements by shuffles.
bool move_tile_within_warps(ir::Op const& op, Emitter& e);

/// Moves the elements through the op's scratch in shared memory.
void exchange_tile(ir::Op const& op, Emitter& e);

}  // namespace tegula::codegen::nvptx
