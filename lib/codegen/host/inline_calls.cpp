#include "codegen/host/inline_calls.hpp"

#include <set>
#include <string>
#include <vector>

#include "ir/core/walk.hpp"
#include "ir/module/inline_call.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::host {

namespace {

void collect_calls(ir::Block& block, std::vector<ir::Op*>& calls) {
  for (ir::Op& op : block) {
    if (op.is<ir::CallOp>()) calls.push_back(&op);
    for (int i = 0; i < op.block_count(); ++i) collect_calls(op.block(i), calls);
  }
}

/// True for a function that host code can call. It does not use block indices or products, which belong to the kernel;
/// it does not end the launch or name the kernel.
bool callable(ir::Function const& function) {
  bool found = true;
  ir::walk(const_cast<ir::Function&>(function), [&](ir::Op const& op) {
    found = found && !op.is<ir::BlockIndexOp>() && !op.is<ir::GridExtentOp>() && !op.is<ir::DotOp>() &&
            !op.info().effects.writes(ir::Space::console);
  });
  return found;
}

void inline_into(ir::Module& module, ir::Function& function, std::set<std::string>& active,
                 std::set<std::string>& done) {
  if (done.contains(function.name())) return;
  active.insert(function.name());
  std::vector<ir::Op*> calls;
  collect_calls(function.body(), calls);
  for (ir::Op* call : calls) {
    std::string const name(call->as<ir::CallOp>().callee.view());
    ir::Function* const callee = module.find(name);
    if (callee == nullptr) throw UserError("call: no function @" + name + " in the module", call->where());
    if (active.contains(name)) throw UserError("call: @" + name + " calls itself, which kernels cannot", call->where());
    inline_into(module, *callee, active, done);
    if (!callable(*callee)) ir::inline_call(*call, *callee);
  }
  active.erase(function.name());
  done.insert(function.name());
}

}  // namespace

void inline_calls(ir::Module& module) {
  std::set<std::string> active;
  std::set<std::string> done;
  inline_into(module, module.kernel(), active, done);
}

}  // namespace tegula::codegen::host
