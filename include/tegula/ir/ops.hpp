// Includes all op structs.
#pragma once

#include "tegula/ir/ops/async.hpp"
#include "tegula/ir/ops/barrier.hpp"
#include "tegula/ir/ops/buffer.hpp"
#include "tegula/ir/ops/warp.hpp"
#include "tegula/ir/tile_ops.hpp"

namespace tegula::ir {

/// True for an op of the block family: it names threads, shared memory or asynchronous work.
template <class OpStruct>
concept BlockOp = (OpStruct::traits & block_op) != 0;

}  // namespace tegula::ir
