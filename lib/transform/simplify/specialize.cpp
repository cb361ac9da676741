#include "transform/simplify/specialize.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "analysis/call_graph.hpp"
#include "analysis/effects.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
#include "ir/values/loop_step.hpp"

namespace tegula::transform {
namespace {

/// Gives a function's tensors the facts that all its callers' have.
bool hand_facts_on(ir::Module& module) {
  bool changed = false;
  auto const callees_first = analysis::callees_first(module);
  for (auto at = callees_first.rbegin(); at != callees_first.rend(); ++at) {  // callers first
    ir::Function& callee = **at;
    if (callee.is_kernel()) continue;
    for (int i = 0; i < callee.parameter_count(); ++i) {
      if (!callee.parameter(i)->type().is_tensor()) continue;
      TensorFacts joined{true, true, true};
      bool called = false;
      for (auto const& caller : module.functions())
        ir::walk(*caller, [&](ir::Op& op) {
          if (!op.is<ir::CallOp>() || op.as<ir::CallOp>().callee.view() != callee.name()) return;
          joined = joined & ir::parameter_of(*op.in<ir::CallOp>("arguments", i)).facts;
          called = true;
        });
      TensorFacts& facts = callee.parameter_attributes()[static_cast<std::size_t>(i)].facts;
      if (!called || facts == joined) continue;
      facts = joined;
      changed = true;
    }
  }
  return changed;
}

using ir::ForOp;

/// Applies the options in place of the written values. A distance that was written for more stages than there are now
/// becomes the greatest that is left. One that the options ask for has to fit.
bool override_loop(ir::Op& op, CompileOptions const& options, support::Diagnostics& diagnostics) {
  auto& loop = op.as<ir::ForOp>();
  ir::ForOp const before = loop;
  if (options.stages != 0) loop.stages = options.stages;
  if (options.stages != 0 && options.exactly) loop.exactly = true;
  if (options.unroll != 0) loop.unroll = options.unroll;
  if (loop.stages != 0) loop.distance = std::min(loop.distance, loop.stages - 1);
  if (options.distance != 0) loop.distance = options.distance;
  if (loop.stages != 0 && loop.distance >= loop.stages)
    diagnostics.error(fmt::format("specialize: copies {} iterations ahead need at least {} stages, but the loop has "
                                  "{}; take more stages, or a distance of at most {}",
                                  loop.distance, loop.distance + 1, loop.stages, loop.stages - 1),
                      op.where());
  return loop.stages != before.stages || loop.exactly != before.exactly || loop.distance != before.distance ||
         loop.unroll != before.unroll;
}

/// Rewrites a loop whose step may be 0 or less. It does not run for such a step and has a step of at least 1, so that
/// passes may divide by it.
bool guard_step(ir::Op& op) {
  if (ir::has_positive_step(op)) return false;
  ir::Loop const loop(op);
  ir::Builder builder = ir::Builder::before(op);
  builder.set_where(op.where());
  ir::Value* const step = loop.step();
  ir::Value* const runs = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::gt), {step, builder.index(0)},
                                        ir::Type::scalar(Element::boolean));
  op.set_operand(op.position<ir::ForOp>("upper"),
                 builder.value(ir::SelectOp{}, {runs, loop.upper(), loop.lower()}, ir::Type::index()));
  op.set_operand(op.position<ir::ForOp>("step"), builder.same(ir::MaxOp{}, {step, builder.index(1)}));
  return true;
}

}  // namespace

PassResult specialize(ir::Module& module, PassContext& context) {
  CompileOptions const& options = context.options;
  ir::Function& kernel = module.kernel();
  auto& attributes = kernel.parameter_attributes();
  if (!options.facts.empty() && options.facts.size() != attributes.size()) {
    context.diagnostics.error(fmt::format("specialize: {} facts for the {} parameters of @{}", options.facts.size(),
                                          attributes.size(), kernel.name()));
    return PassResult::unchanged;
  }
  bool changed = false;
  for (std::size_t i = 0; i < options.facts.size(); ++i) {
    if (!kernel.parameter(static_cast<int>(i))->type().is_tensor()) continue;
    TensorFacts const facts = attributes[i].facts | options.facts[i];
    changed = changed || facts != attributes[i].facts;
    attributes[i].facts = facts;
  }
  for (ir::Function* function : analysis::unreached_functions(module)) {
    module.erase(*function);
    changed = true;
  }
  changed = hand_facts_on(module) || changed;
  for (auto const& function : module.functions())
    ir::walk(*function, [&](ir::Op& op) {
      if (!op.is<ir::ForOp>()) return;
      changed = override_loop(op, options, context.diagnostics) || changed;
      changed = guard_step(op) || changed;
    });
  return result_of(changed);
}

}  // namespace tegula::transform
