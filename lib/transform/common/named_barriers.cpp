#include "transform/common/named_barriers.hpp"

#include <algorithm>

#include "analysis/hazards.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/other_operand.hpp"
#include "ir/core/walk.hpp"
#include "target/block_rules.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::transform {

using ir::Op;

Partition partition_of(Op& op) {
  Op* inside = &op;
  for (Op* around = op.parent_op(); around != nullptr; inside = around, around = around->parent_op())
    if (around->is<ir::WarpSpecializeOp>()) {
      int number = 0;
      while (&around->block(number) != inside->parent()) ++number;
      return {around, number};
    }
  return {};
}

NamedBarriers::NamedBarriers(ir::Function& function) {
  ir::walk_pre_order(function, [&](Op& op) {
    bool const named = (op.is<ir::BarrierOp>() || op.is<ir::BarrierArriveOp>()) && op.operand_count() > 0;
    if (named) mark_used(op, *op.operand());
    return ir::Walk::advance;
  });
}

std::optional<std::int64_t> NamedBarriers::take(std::int64_t count) {
  for (std::int64_t first = 1; first + count <= target::named_barriers; ++first) {
    auto const used = used_.lower_bound(first);
    if (used != used_.end() && *used < first + count) continue;
    for (std::int64_t name = first; name < first + count; ++name) used_.insert(name);
    return first;
  }
  return std::nullopt;
}

void NamedBarriers::mark_used(Op& op, ir::Value& name) {
  if (auto const constant = ir::constant_int(name)) {
    used_.insert(*constant);
    return;
  }
  if (auto const first_of_group = ir::constant_beside_warpgroup(name)) {
    Partition const partition = partition_of(op);
    std::int64_t const warps = partition.specialize != nullptr ? partition.warps() : analysis::warps_of(*op.function());
    for (std::int64_t group = 0; group < std::max<std::int64_t>(warps / target::warpgroup_warps, 1); ++group)
      used_.insert(*first_of_group + group);
    return;
  }
  Op const* const sum = name.defining_op();
  Partition const partition = partition_of(op);
  std::int64_t first = 0, count = target::named_barriers;
  if (partition.specialize != nullptr) {
    ir::Value const* const replica = partition.replica();
    if (&name == replica) count = partition.replicas();
    if (sum != nullptr && sum->is<ir::AddOp>() && (sum->lhs() == replica || sum->rhs() == replica))
      if (auto const constant = ir::constant_int(*ir::other_operand(*sum, *replica)))
        first = *constant, count = partition.replicas();
  }
  for (std::int64_t i = first; i < first + count; ++i) used_.insert(i);
}

}  // namespace tegula::transform
