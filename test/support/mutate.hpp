// Kernels with one synchronising op taken out: what a checker of order must find.
#pragma once

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "ir/text.hpp"

namespace tegula::test {

/// A module without one op.
struct Mutation {
  std::string without;  ///< the op's IR line, with its line number in the function's text
  ir::Module module;
};

namespace detail {

inline std::vector<ir::Op*> all_ops(ir::Block const& block) {
  std::vector<ir::Op*> result;
  for (ir::Op& op : block) {
    result.push_back(&op);
    for (int i = 0; i < op.block_count(); ++i) {
      auto const inside = all_ops(op.block(i));
      result.insert(result.end(), inside.begin(), inside.end());
    }
  }
  return result;
}

inline bool schedules_only(ir::Op const& op) {
  for (ir::FieldRef const& field : ir::fields_of(op.kind(), op.attributes()))
    if (field.name == "purpose") return *static_cast<ir::Purpose const*>(field.data) == ir::Purpose::schedule;
  return false;
}

inline std::string one_line(ir::Op const& op) {
  std::string const text = ir::print(op);
  return text.substr(0, text.find('\n'));
}

}  // namespace detail

/// One mutation per op that `taken` picks. Uses of a result become uses of the operand that it hands on.
inline std::vector<Mutation> mutations(ir::Module const& module, std::function<bool(ir::Op const&)> const& taken) {
  std::vector<Mutation> result;
  std::vector<ir::Op*> const ops = detail::all_ops(module.kernel().body());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (!taken(*ops[i])) continue;
    Mutation mutation{detail::one_line(*ops[i]) + " (op " + std::to_string(i) + ")", module.clone()};
    ir::Op& op = *detail::all_ops(mutation.module.kernel().body())[i];
    for (int r = 0; r < op.result_count(); ++r) op.result(r)->replace_all_uses_with(*op.operand(r));
    op.erase();
    result.push_back(std::move(mutation));
  }
  return result;
}

/// One per op of the kernel that orders something: all with the trait `synchronizes`, but for hints (prefetches,
/// launch_dependents), those that say `purpose = schedule`, and fences of pending values alone: products of one shape
/// on the same accumulators need none between (PTX: wgmma.fence).
inline std::vector<Mutation> mutations(ir::Module const& module) {
  return mutations(module, [](ir::Op const& op) {
    bool const hint = op.is<ir::PrefetchTensorMapOp>() || op.is<ir::TmaPrefetchOp>() || op.is<ir::LaunchDependentsOp>();
    bool const between_products = op.is<ir::WgmmaFenceOp>() && op.operand_count() != 0 &&
                                  std::all_of(op.operands().begin(), op.operands().end(),
                                              [](ir::Value const* value) { return value->type().is_pending(); });
    return op.info().has(ir::synchronizes) && !hint && !between_products && !detail::schedules_only(op);
  });
}

}  // namespace tegula::test
