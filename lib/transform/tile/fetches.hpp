// Finds tiles that lie in shared memory.
#pragma once

#include <algorithm>
#include <cstdint>

#include "ir/op.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {

/// Gives the fetched tile that a tile was loaded from, with its two axes swapped if `transposed`; null: none.
struct FetchedOperand {
  ir::Value* view = nullptr;
  bool transposed = false;
};

inline FetchedOperand fetched_operand(ir::Value const& tile) {
  ir::Op* const op = tile.defining_op();
  if (op == nullptr) return {};
  if (op->is<ir::BufferLoadOp>()) return {op->in<ir::BufferLoadOp>("source"), false};
  if (!op->is<ir::TransOp>()) return {};
  FetchedOperand source = fetched_operand(*op->in<ir::TransOp>("tile"));
  if (op->as<ir::TransOp>().permutation == Extents{1, 0}) source.transposed = !source.transposed;
  return source;
}

/// Numbers the fetches of a loop that is about to be copied, so that a fetch and its copies share a ring.
inline void number_fetches(ir::Op& loop) {
  std::int64_t max = 0;
  ir::walk(*loop.function(), [&](ir::Op& op) {
    if (op.is<ir::FetchOp>()) max = std::max(max, op.as<ir::FetchOp>().ring);
  });
  for (int b = 0; b < loop.block_count(); ++b)
    ir::walk(loop.block(b), [&](ir::Op& op) {
      if (op.is<ir::FetchOp>() && op.as<ir::FetchOp>().ring == 0) op.as<ir::FetchOp>().ring = ++max;
    });
}

}  // namespace tegula::transform
