#include "transform/inline_functions.hpp"

#include "analysis/call_graph.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

void inline_call(Op& call, ir::Function const& callee) {
  ir::ValueMap map;
  for (int i = 0; i < callee.parameter_count(); ++i) map[callee.parameter(i)] = call.operand(i);
  ir::Builder builder = ir::Builder::before(call);
  Op* outermost = &call;
  while (outermost->parent_op() != nullptr) outermost = outermost->parent_op();
  ir::Builder buffers = ir::Builder::before(*outermost);  // shared memory belongs into the outermost block
  std::vector<Value*> results;
  for (Op const& op : callee.body()) {
    if (op.is<ir::SharedAllocOp>()) {
      buffers.clone(op, map).as<ir::SharedAllocOp>().offset = -1;
      continue;
    }
    if (!op.is<ir::ReturnOp>()) {
      builder.clone(op, map);
      continue;
    }
    for (Value* value : op.operands()) results.push_back(map.at(value));
  }
  ir::replace(call, results);
}

PassResult run(ir::Module& module, bool all) {
  bool changed = false;
  for (ir::Function* function : analysis::callees_first(module))  // so a body that is copied holds no call to inline
    ir::walk(*function, [&](Op& op) {
      if (!op.is<ir::CallOp>()) return;
      ir::Function const* const callee = module.find(op.as<ir::CallOp>().callee.view());
      if (callee == nullptr || (!all && callee->inlining == ir::Inline::no)) return;
      inline_call(op, *callee);
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

PassResult inline_functions(ir::Module& module, AnalysisCache&, PassContext&) { return run(module, false); }
PassResult inline_all_functions(ir::Module& module, AnalysisCache&, PassContext&) { return run(module, true); }

}  // namespace tegula::transform
