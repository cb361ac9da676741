#include "transform/simplify/inline_functions.hpp"

#include <set>

#include "analysis/call_graph.hpp"
#include "ir/core/walk.hpp"
#include "ir/module/inline_call.hpp"
#include "transform/common/remove_records.hpp"
#include "transform/common/whole_kernels.hpp"

namespace tegula::transform {
namespace {

using ir::Op;

/// Limits the growth of code, in ops, for a function that leaves the choice to the inliner.
constexpr std::int64_t max_growth = 128;

std::int64_t op_count(ir::Function const& function) {
  std::int64_t count = 0;
  ir::walk(const_cast<ir::Function&>(function), [&](Op const&) { ++count; });
  return count;
}

std::int64_t call_count(ir::Module const& module, ir::Function const& callee) {
  std::int64_t count = 0;
  for (auto const& function : module.functions())
    ir::walk(*function, [&](Op const& op) {
      count += op.is<ir::CallOp>() && op.as<ir::CallOp>().callee.view() == callee.name() ? 1 : 0;
    });
  return count;
}

/// Tells whether inline-functions leaves the function's calls: functions marked noinline, and unmarked ones whose
/// copies would make the code grow too much. Functions with records, or marked inline, never stay.
bool is_kept(ir::Function const& function) {
  if (function.is_kernel() || function.inlining == ir::Inline::yes) return false;
  if (has_records(function)) return false;  // a log belongs to the kernel
  if (function.inlining == ir::Inline::no) return true;
  return (call_count(*function.parent(), function) - 1) * op_count(function) > max_growth;
}

PassResult run(ir::Module& module, bool all) {
  bool changed = false;
  std::set<ir::Function const*> kept;  // decided before bodies grow by the ones of their callees
  for (auto const& function : module.functions())
    if (is_kept(*function)) kept.insert(function.get());
  for (ir::Function* function : analysis::callees_first(module))  // so a body that is copied holds no call to inline
    ir::walk(*function, [&](Op& op) {
      if (!op.is<ir::CallOp>()) return;
      ir::Function const* const callee = module.find(op.as<ir::CallOp>().callee.view());
      if (callee == nullptr || (!all && kept.count(callee) != 0)) return;
      ir::inline_call(op, *callee);
      changed = true;
    });
  bool has_kernel = false;
  for (auto const& function : module.functions()) has_kernel = has_kernel || function->is_kernel();
  if (!has_kernel) return result_of(changed);
  for (ir::Function* function : analysis::unreached_functions(module)) {
    module.erase(*function);
    changed = true;
  }
  return result_of(changed);
}

}  // namespace

PassResult inline_functions(ir::Module& module, PassContext&) { return run(module, false); }
PassResult inline_device_functions(ir::Module& module, PassContext& context) {
  return run(module, context.options.persistence == Choice::on || has_products_or_copies(module));
}

}  // namespace tegula::transform
