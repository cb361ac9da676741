// Changes how many blocks a launch starts.
#pragma once

#include <cstdint>

#include "ir/core/builder.hpp"

namespace tegula::transform {

/// Multiplies the blocks that a kernel's launch statement asks for along the first axis.
inline void multiply_blocks(ir::Op& grid, std::int64_t factor) {
  ir::Builder before = ir::Builder::before(grid);
  before.set_where(grid.where());
  int const first = grid.position<ir::GridOp>("extents");
  grid.set_operand(first, before.same(ir::MulOp{}, {grid.operand(first), before.index(factor)}));
}

}  // namespace tegula::transform
