#include "analysis/call_graph.hpp"

#include <set>

#include "ir/core/walk.hpp"

namespace tegula::analysis {
namespace {

void visit(ir::Module const& module, ir::Function& function, std::set<ir::Function const*>& seen,
           std::vector<ir::Function*>& order) {
  if (!seen.insert(&function).second) return;
  ir::walk(function, [&](ir::Op& op) {
    if (!op.is<ir::CallOp>()) return;
    if (ir::Function* callee = module.find(op.as<ir::CallOp>().callee.view())) visit(module, *callee, seen, order);
  });
  order.push_back(&function);
}

}  // namespace

std::vector<ir::Function*> callees_first(ir::Module const& module) {
  std::set<ir::Function const*> seen;
  std::vector<ir::Function*> order;
  for (auto const& function : module.functions()) visit(module, *function, seen, order);
  return order;
}

std::vector<ir::Function*> unreached_functions(ir::Module const& module) {
  std::set<ir::Function const*> seen;
  std::vector<ir::Function*> reached;
  for (auto const& function : module.functions())
    if (function->is_kernel()) visit(module, *function, seen, reached);
  std::vector<ir::Function*> result;
  for (auto const& function : module.functions())
    if (seen.count(function.get()) == 0) result.push_back(function.get());
  return result;
}

}  // namespace tegula::analysis
