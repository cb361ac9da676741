#include "codegen/host/inline_calls.hpp"

#include <set>
#include <string>
#include <vector>

#include "ir/builder.hpp"
#include "tegula/support/error.hpp"

namespace tegula::codegen::host {

namespace {

void collect_calls(ir::Block& block, std::vector<ir::Op*>& calls) {
  for (ir::Op& op : block) {
    if (op.is<ir::CallOp>()) calls.push_back(&op);
    for (int i = 0; i < op.block_count(); ++i) collect_calls(op.block(i), calls);
  }
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
    ir::ValueMap map;
    for (int i = 0; i < callee->parameter_count(); ++i) map[callee->parameter(i)] = call->operand(i);
    ir::Builder builder = ir::Builder::before(*call);
    for (ir::Op const& op : callee->body()) {
      if (!op.is<ir::ReturnOp>()) {
        builder.clone(op, map);
        continue;
      }
      for (int i = 0; i < op.operand_count(); ++i) {
        auto const found = map.find(op.operand(i));
        call->result(i)->replace_all_uses_with(found == map.end() ? *op.operand(i) : *found->second);
      }
    }
    call->erase();
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
