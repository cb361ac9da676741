#include "transform/specialize.hpp"

#include "analysis/call_graph.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {

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
