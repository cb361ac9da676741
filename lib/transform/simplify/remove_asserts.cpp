#include "transform/simplify/remove_asserts.hpp"

#include "ir/walk.hpp"
#include "transform/simplify/eliminate_dead_code.hpp"

namespace tegula::transform {

bool remove_asserts(ir::Function& function) {
  bool found = false;
  ir::walk(function, [&](ir::Op const& op) { found = found || op.is<ir::AssertOp>(); });
  return found &&
         keep_only(function.body(), [](ir::Op const& op) { return runs_by_itself(op) && !op.is<ir::AssertOp>(); });
}

PassResult remove_asserts(ir::Function& function, AnalysisCache&, PassContext&) {
  return result_of(remove_asserts(function));
}

}  // namespace tegula::transform
