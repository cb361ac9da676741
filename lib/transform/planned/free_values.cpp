#include "transform/planned/free_values.hpp"

#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"

namespace tegula::transform {

using ir::Op;

bool is_free(Op const& op) { return op.is<ir::ConstantOp>() || op.is<ir::SplatOp>() || op.is<ir::IotaOp>(); }

void split_free_values(ir::Function& function) {
  std::vector<Op*> free;
  ir::walk(function, [&](Op& op) {
    if (is_free(op) && op.result()->type().is_tile()) free.push_back(&op);
  });
  auto const again = [](Op& op) -> Op& {
    ir::Builder builder = ir::Builder::before(op);
    ir::ValueMap map;
    return builder.clone(op, map);
  };
  for (std::size_t i = 0; i < free.size(); ++i) {
    Op& op = *free[i];
    std::vector<ir::Use> const uses = op.result()->uses();
    for (ir::Use const& use : uses) {
      if (!use.user->is<ir::ConvertLayoutOp>()) continue;
      free.push_back(&again(op));
      free.back()->result()->set_type(use.user->result()->type());
      ir::replace(*use.user, free.back()->result());
    }
    while (op.result()->uses().size() > 1) {
      ir::Use const use = op.result()->uses().back();
      use.user->set_operand(use.index, again(op).result());
    }
    if (!uses.empty() && op.result()->uses().empty()) op.erase();
  }
}

}  // namespace tegula::transform
