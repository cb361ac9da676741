#include "ir/module/inline_call.hpp"

#include "ir/core/rewrite.hpp"

namespace tegula::ir {

void inline_call(Op& call, Function const& callee) {
  ValueMap map;
  for (int i = 0; i < callee.parameter_count(); ++i) map[callee.parameter(i)] = call.operand(i);
  Builder builder = Builder::before(call);
  Op* outermost = &call;
  while (outermost->parent_op() != nullptr) outermost = outermost->parent_op();
  Builder buffers = Builder::before(*outermost);
  std::vector<Value*> results;
  for (Op const& op : callee.body()) {
    if (op.is<BufferAllocOp>()) {
      buffers.clone(op, map).as<BufferAllocOp>().offset = -1;
      continue;
    }
    if (op.is<BufferDeallocOp>()) continue;  // the caller's memory lives on
    if (!op.is<ReturnOp>()) {
      builder.clone(op, map);
      continue;
    }
    for (Value* value : op.operands()) results.push_back(map.at(value));
  }
  replace(call, results);
}

}  // namespace tegula::ir
