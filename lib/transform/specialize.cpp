#include "transform/specialize.hpp"

#include "analysis/call_graph.hpp"
#include "analysis/effects.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

/// A function's tensors have the facts that all its callers' have.
bool hand_facts_on(ir::Module& module) {
  bool changed = false;
  auto const callees_first = analysis::callees_first(module);
  for (auto at = callees_first.rbegin(); at != callees_first.rend(); ++at) {  // callers first
    ir::Function& callee = **at;
    if (callee.is_kernel()) continue;
    for (int i = 0; i < callee.parameter_count(); ++i) {
      if (!callee.parameter(i)->type().is_tensor()) continue;
      TensorFacts joined{true, true};
      bool called = false;
      for (auto const& caller : module.functions())
        ir::walk(*caller, [&](ir::Op& op) {
          if (!op.is<ir::CallOp>() || op.as<ir::CallOp>().callee.view() != callee.name()) return;
          TensorFacts const& given = analysis::parameter_of(*op.operand(i)).facts;
          joined.unit_inner_stride = joined.unit_inner_stride && given.unit_inner_stride;
          joined.aligned_16 = joined.aligned_16 && given.aligned_16;
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

}  // namespace

PassResult specialize(ir::Module& module, AnalysisCache&, PassContext& context) {
  CompileOptions const& options = context.options;
  ir::Function& kernel = module.kernel();
  auto& attributes = kernel.parameter_attributes();
  if (!options.facts.empty() && options.facts.size() != attributes.size()) {
    context.diagnostics.error("specialize: " + std::to_string(options.facts.size()) + " facts for the " +
                              std::to_string(attributes.size()) + " parameters of @" + kernel.name());
    return PassResult::unchanged;
  }
  bool changed = false;
  for (std::size_t i = 0; i < options.facts.size(); ++i) {
    if (!kernel.parameter(static_cast<int>(i))->type().is_tensor()) continue;
    TensorFacts facts = attributes[i].facts;
    facts.unit_inner_stride = facts.unit_inner_stride || options.facts[i].unit_inner_stride;
    facts.aligned_16 = facts.aligned_16 || options.facts[i].aligned_16;
    changed = changed || facts != attributes[i].facts;
    attributes[i].facts = facts;
  }
  for (ir::Function* function : analysis::unreached_functions(module)) {
    module.erase(*function);
    changed = true;
  }
  changed = hand_facts_on(module) || changed;
  if (options.stages == 0) return result_of(changed);
  for (auto const& function : module.functions())
    ir::walk(*function, [&](ir::Op& op) {
      if (!op.is<ir::ForOp>() || op.as<ir::ForOp>().stages == options.stages) return;
      op.as<ir::ForOp>().stages = options.stages;
      changed = true;
    });
  return result_of(changed);
}

}  // namespace tegula::transform
