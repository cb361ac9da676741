// Plans where each value is computed: decisions made on the IR before any LLVM IR exists.
//
// A tile value is either recomputed inside the loops of its consumers (loads, elementwise ops, shape ops) or kept in
// scratch from its definition on. Kept are:
// - operands of dots,
// - costly values with more than one consumer,
// - costly values that are broadcast,
// - values that cross into a loop,
// - loads of tensors that the kernel also writes.
#pragma once

#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "ir/core/op.hpp"
#include "ir/memory/source.hpp"

namespace tegula::codegen::host {

/// True for ops that can be evaluated element by element inside a loop: elementwise, shape ops, constants, loads.
bool is_inlineable(ir::Op const& op);

/// True for a shape op that places elements in memory: its result does more than relabel the axes of its operand.
bool regroups(ir::Op const& op);

/// Returns the index of one operand of an inlineable op for an index of its result. T has one value per axis, `zero` is
/// the value of an axis of extent 1.
template <class T>
std::vector<T> operand_index(ir::Op const& op, int operand, std::vector<T> const& index, T const& zero);

/// True for an op that reads elements of a tensor and does nothing else.
bool reads_tensor(ir::Op const& op);

/// True for an op that makes a scalar of an element of a tile: unlike other scalars it is computed where it stands.
bool gives_item(ir::Op const& op);

/// Describes a loop that is one matrix product: its only carried tile is the accumulator of its dot. The dot's operands
/// are elementwise expressions of loads from tensors that the kernel never overwrites.
struct Contraction {
  ir::Op const* loop = nullptr;
  ir::Op const* dot = nullptr;

  /// Returns the dot's lhs (side 0) or rhs (side 1).
  [[nodiscard]] ir::Value const& factor(int side) const { return side == 0 ? *dot->lhs() : *dot->rhs(); }
};

/// Lists the grid axes that an operand of a contraction depends on. If it depends only on them, the loop index and
/// launch values, it can be packed ahead of the blocks.
struct BlockDependence {
  bool axes[3] = {false, false, false};
};

class Plan {
 public:
  explicit Plan(ir::Function const& kernel);

  /// True for a value kept in scratch as rows.
  [[nodiscard]] bool kept(ir::Value const& value) const { return kept_.contains(&value); }
  /// True for a kept value that ends a part of a long chain: its uses run in a later nest.
  [[nodiscard]] bool is_cut(ir::Value const& value) const {
    auto const found = depth_.find(&value);
    return found != depth_.end() && found->second == 0;
  }
  /// True for a value kept in scratch as column panels for the right-hand side of dots.
  [[nodiscard]] bool kept_as_panels(ir::Value const& value) const { return panels_.contains(&value); }
  /// Lists the ops outside inlined expressions that consume the value.
  [[nodiscard]] std::vector<ir::Op const*> const& consumers(ir::Value const& value) const;
  [[nodiscard]] Contraction const* contraction(ir::Op const& loop) const;
  /// Returns the cost of evaluating the value once, in instructions.
  [[nodiscard]] int cost(ir::Value const& value) const;
  /// True when some op of the kernel stores to the tensor.
  [[nodiscard]] bool written(ir::Value const& tensor) const;
  /// True when stores to the tensor may bypass the caches: the kernel does not read it, and it has no atomics, ahead of
  /// which such stores would have to be complete.
  [[nodiscard]] bool may_stream(ir::Value const& tensor) const;

 private:
  void find_reads(ir::Block const& block);
  void count_costs(ir::Block const& block);
  void find_contractions(ir::Block const& block);
  void decide(ir::Block const& block);
  void decide(ir::Op const& op);
  [[nodiscard]] std::optional<Contraction> match(ir::Op const& loop) const;
  [[nodiscard]] bool is_constant_scalar(ir::Op const& op) const;
  [[nodiscard]] bool pays_to_keep(ir::Op const& op, std::vector<ir::Op const*> const& consumers, bool broadcast) const;
  [[nodiscard]] bool reads_written_tensor(ir::Value const& value) const;

  std::unordered_map<ir::Value const*, int> cost_;
  std::unordered_map<ir::Value const*, int> depth_;  ///< ops in a chain since the last cut
  std::unordered_map<ir::Value const*, std::vector<ir::Op const*>> consumers_;
  std::unordered_map<ir::Value const*, bool> kept_;
  std::unordered_map<ir::Value const*, bool> panels_;
  std::unordered_map<ir::Op const*, Contraction> contractions_;
  std::vector<ir::Value const*> written_;
  std::unordered_set<ir::Value const*> read_;
  bool has_atomics_ = false;
};

/// Finds the dependences of a value; returns nothing if it depends on more than grid axes, `index` and launch values.
/// `index` may be null.
std::optional<BlockDependence> block_dependence(ir::Value const& value, ir::Value const* index);

template <class T>
std::vector<T> operand_index(ir::Op const& op, int operand, std::vector<T> const& index, T const& zero) {
  ir::Type const& type = op.operand(operand)->type();
  if (!type.is_tile()) return {};
  std::vector<T> result = index;
  if (ir::moves_elements(op)) {
    ir::Source const source = ir::source(op);
    result.clear();
    for (ir::AxisSource const& axis : source.parts[0])
      result.push_back(axis.axis < 0 ? zero : index[static_cast<std::size_t>(axis.axis)]);
  }
  for (int i = 0; i < type.rank(); ++i)
    if (type.shape()[i] == 1) result[static_cast<std::size_t>(i)] = zero;
  return result;
}

}  // namespace tegula::codegen::host
