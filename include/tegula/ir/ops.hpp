// Includes all op structs.
#pragma once

#include "tegula/ir/ops/async.hpp"
#include "tegula/ir/ops/barrier.hpp"
#include "tegula/ir/ops/buffer.hpp"
#include "tegula/ir/ops/warp.hpp"
#include "tegula/ir/tile_ops.hpp"

namespace tegula::ir {

/// True for an op of the block family: it names threads, shared memory or asynchronous work, so nothing that holds
/// whole tiles runs it.
template <class OpStruct>
concept BlockOp = (OpStruct::support & on_tile_simulator) == 0;

/// True for an op that works element by element.
template <class OpStruct>
concept ElementwiseOp = OpStruct::family == Family::elementwise;

}  // namespace tegula::ir
