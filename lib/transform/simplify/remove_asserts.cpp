#include "transform/simplify/remove_asserts.hpp"

#include "ir/core/walk.hpp"
#include "transform/common/dead_code.hpp"

namespace tegula::transform {

bool remove_asserts(ir::Function& function, bool ranges_only) {
  auto const removed = [&](ir::Op const& op) {
    return op.is<ir::AssertOp>() && (!ranges_only || op.as<ir::AssertOp>().range);
  };
  bool found = false;
  ir::walk(function, [&](ir::Op const& op) { found = found || removed(op); });
  return found && keep_only(function.body(), [&](ir::Op const& op) { return runs_by_itself(op) && !removed(op); });
}

PassResult remove_asserts(ir::Function& function, PassContext&) { return result_of(remove_asserts(function)); }

}  // namespace tegula::transform
