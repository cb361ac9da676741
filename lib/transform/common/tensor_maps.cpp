#include "transform/common/tensor_maps.hpp"

#include <fmt/format.h>

#include <unordered_set>
#include <vector>

#include "analysis/effects.hpp"
#include "target/box_rows.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Collects the ops from which a value follows, operands first; false if one of them may not stand at the start.
bool collect(Value const& value, std::vector<Op*>& ops, std::unordered_set<Op const*>& seen) {
  Op* const op = value.defining_op();
  if (op == nullptr) {
    ir::Block const* const owner = value.owner_block();
    return owner != nullptr && owner->parent_function() != nullptr;
  }
  if (!seen.insert(op).second) return true;
  bool const fits = op->parent()->parent_function() != nullptr && op->result_count() == 1 && op->block_count() == 0 &&
                    (value.type().is_scalar() || value.type().is_tensor()) && analysis::is_movable(*op) &&
                    !op->info().is_block_op();
  if (!fits) return false;
  for (Value const* operand : op->operands())
    if (!collect(*operand, ops, seen)) return false;
  ops.push_back(op);
  return true;
}

}  // namespace

bool known_at_start(Value const& tensor) {
  std::vector<Op*> ops;
  std::unordered_set<Op const*> seen;
  return collect(tensor, ops, seen);
}

Value* tensor_map_at_start(ir::Function& kernel, Value& tensor, ir::TensorMapOp const& wanted, Extents const& shape) {
  ir::Type const type = ir::Type::tensor_map(tensor.type().element(), shape.empty() ? wanted.box : shape);
  for (ir::Use const& use : tensor.uses()) {
    if (!use.user->is<ir::TensorMapOp>()) continue;
    auto const& map = use.user->as<ir::TensorMapOp>();
    if (map.box == wanted.box && map.swizzle == wanted.swizzle && use.user->result()->type() == type)
      return use.user->result();
  }
  std::vector<Op*> ops;
  std::unordered_set<Op const*> seen;
  collect(tensor, ops, seen);
  Op* after = nullptr;  // the maps, and the ops that stand at the start already
  std::unordered_set<Op const*> in_place;
  for (Op& op : kernel.body()) {
    after = &op;
    if (!op.is<ir::TensorMapOp>() && seen.count(&op) == 0) break;
    in_place.insert(&op);
  }
  for (Op* op : ops)
    if (in_place.count(op) == 0) op->move_before(*after);
  ir::Builder builder = ir::Builder::before(*after);
  Value* const map = builder.value(wanted, {&tensor}, type);
  map->set_name(fmt::format("map_{}", tensor.name().empty() ? fmt::to_string(tensor.index()) : tensor.name()));
  return map;
}

Value* map_of_rows(ir::Function& kernel, Value& tensor, Extents box, int swizzle_bytes) {
  while (box.size() < tensor.type().rank()) box.insert(0, 1);
  ir::TensorMapOp wanted;
  wanted.box = box;
  wanted.swizzle = swizzle_of(swizzle_bytes);
  return tensor_map_at_start(kernel, tensor, wanted, target::stated_rows(box));
}

}  // namespace tegula::transform
