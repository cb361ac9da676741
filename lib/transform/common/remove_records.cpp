#include "transform/common/remove_records.hpp"

#include "ir/core/walk.hpp"
#include "transform/common/dead_code.hpp"

namespace tegula::transform {

bool remove_records(ir::Function& function) {
  bool found = false;
  ir::walk(function, [&](ir::Op const& op) { found = found || op.is<ir::RecordOp>(); });
  return found &&
         keep_only(function.body(), [](ir::Op const& op) { return runs_by_itself(op) && !op.is<ir::RecordOp>(); });
}

bool has_records(ir::Function const& function) {
  bool found = false;
  ir::walk(const_cast<ir::Function&>(function), [&](ir::Op const& op) {
    if (op.is<ir::CallOp>() && function.parent() != nullptr)
      if (ir::Function const* const callee = function.parent()->find(op.as<ir::CallOp>().callee.view()))
        found = found || has_records(*callee);
    found = found || op.is<ir::RecordOp>();
  });
  return found;
}

}  // namespace tegula::transform
