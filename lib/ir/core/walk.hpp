// Walks over ops, nested ones included; stays valid when the visitor erases the op it is given.
#pragma once

#include <utility>

#include "ir/core/op.hpp"

namespace tegula::ir {

enum class Walk : std::uint8_t {
  advance,  ///< go on
  skip,     ///< pre-order: not into this op's blocks
};

/// Calls `visit(Op&)` for every op: post-order (the ops inside an op before it). The visitor may erase the op it is
/// given, insert ops before it, or move it; ops inserted after it are visited.
template <class Visit>
void walk(Block& block, Visit&& visit) {
  for (auto at = block.begin(); at != block.end();) {
    Op& op = *at;
    for (int i = 0; i < op.block_count(); ++i) walk(op.block(i), visit);
    ++at;
    visit(op);
  }
}

/// Visits an op before those inside it. The visitor may erase the op it is given if it answers Walk::skip.
template <class Visit>
void walk_pre_order(Block& block, Visit&& visit) {
  for (auto at = block.begin(); at != block.end();) {
    Op& op = *at;
    ++at;
    if (visit(op) == Walk::skip) continue;
    for (int i = 0; i < op.block_count(); ++i) walk_pre_order(op.block(i), visit);
  }
}

/// Visits users before definitions: the last op of a block first, the ops inside an op after it. The visitor may erase
/// the op it is given if it answers Walk::skip.
template <class Visit>
void walk_backward(Block& block, Visit&& visit) {
  for (auto at = block.end(); at != block.begin();) {
    --at;
    Op& op = *at;
    bool const first = at == block.begin();
    auto before = at;
    if (!first) --before;
    if (visit(op) != Walk::skip)
      for (int i = op.block_count() - 1; i >= 0; --i) walk_backward(op.block(i), visit);
    if (first) return;
    at = before;
    ++at;
  }
}

template <class Visit>
void walk(Function& function, Visit&& visit) {
  walk(function.body(), std::forward<Visit>(visit));
}
template <class Visit>
void walk_pre_order(Function& function, Visit&& visit) {
  walk_pre_order(function.body(), std::forward<Visit>(visit));
}

}  // namespace tegula::ir
