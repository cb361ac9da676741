// Makes kernels with one synchronising op erased, which a checker of order must find.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

#include "ir/text/text.hpp"

namespace tegula::test {

/// Holds a module without one op.
struct Mutation {
  std::string without;  ///< the op's IR line, with its line number in the function's text
  ir::Module module;
  std::size_t number = 0;  ///< of the op, among all of the module
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

/// Lists the ops of all functions, one after another.
inline std::vector<ir::Op*> all_ops(ir::Module const& module) {
  std::vector<ir::Op*> result;
  for (auto const& function : module.functions()) {
    auto const inside = all_ops(function->body());
    result.insert(result.end(), inside.begin(), inside.end());
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

/// Returns the module without the ops of these numbers. Uses of a result become uses of the operand that it passes on.
inline ir::Module without(ir::Module const& module, std::vector<std::size_t> const& taken) {
  ir::Module result = module.clone();
  std::vector<ir::Op*> const ops = detail::all_ops(result);
  for (std::size_t const i : taken) {
    for (int r = 0; r < ops[i]->result_count(); ++r) ops[i]->result(r)->replace_all_uses_with(*ops[i]->operand(r));
    ops[i]->erase();
  }
  return result;
}

/// Makes one mutation per op that `taken` picks.
inline std::vector<Mutation> mutations(ir::Module const& module, std::function<bool(ir::Op const&)> const& taken) {
  std::vector<Mutation> result;
  std::vector<ir::Op*> const ops = detail::all_ops(module);
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (taken(*ops[i]))
      result.push_back({fmt::format("{} (op {})", detail::one_line(*ops[i]), i), without(module, {i}), i});
  return result;
}

/// Erases all ops that say `purpose = schedule`; ops that only pair with each other go together.
inline ir::Module without_schedule(ir::Module const& module) {
  std::vector<std::size_t> taken;
  std::vector<ir::Op*> const ops = detail::all_ops(module);
  for (std::size_t i = 0; i < ops.size(); ++i)
    if (detail::schedules_only(*ops[i])) taken.push_back(i);
  return without(module, taken);
}

/// Makes one mutation per op that orders something: all of the trait `synchronizes`, except hints (prefetches,
/// launch_dependents) and ops that say `purpose = schedule`.
inline std::vector<Mutation> mutations(ir::Module const& module) {
  return mutations(module, [](ir::Op const& op) {
    bool const hint = op.is<ir::PrefetchTensorMapOp>() || op.is<ir::TmaPrefetchOp>() || op.is<ir::PrefetchOp>() ||
                      op.is<ir::LaunchDependentsOp>();
    return op.is(ir::Family::synchronisation) && !hint && !detail::schedules_only(op);
  });
}

/// Tells whether insert-barriers or insert-proxy-fences insert such an op.
inline bool is_barrier(ir::Op const& op) { return op.is<ir::BarrierOp>() || op.is<ir::WarpBarrierOp>(); }
inline bool is_inserted(ir::Op const& op) { return is_barrier(op) || op.is<ir::FenceProxyAsyncOp>(); }

/// Takes out every barrier and fence that is not there for the schedule or between partitions, where some warps only
/// arrive. Returns how many.
inline int strip(ir::Function& function) {
  std::vector<ir::Op*> const ops = detail::all_ops(function.body());
  auto const hands_over = [&](ir::Op const& op) {
    return op.operand_count() > 0 && std::any_of(ops.begin(), ops.end(), [&](ir::Op const* other) {
             return other->is<ir::BarrierArriveOp>() && other->operand(0) == op.operand(0);
           });
  };
  std::vector<ir::Op*> taken;
  for (ir::Op* op : ops)
    if (is_inserted(*op) && !detail::schedules_only(*op) && !hands_over(*op)) taken.push_back(op);
  for (ir::Op* op : taken) op->erase();
  return static_cast<int>(taken.size());
}

}  // namespace tegula::test
