// Moves the elements of a tile to the threads that hold them in the result of a conversion, a reshape or an extract.
#pragma once

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Gives the op its result if each thread has its elements already; false: it does not.
bool move_tile_within_threads(ir::Op const& op, Emitter& e);

/// Moves the elements through the op's scratch in shared memory.
void exchange_tile(ir::Op const& op, Emitter& e);

}  // namespace tegula::codegen::nvptx
