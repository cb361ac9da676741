#include "registers/model.hpp"

#include "analysis/register_need.hpp"
#include "ir/walk.hpp"

namespace tegula::registers {

Estimate estimate_of(ir::Function const& kernel) {
  Estimate result;
  result.kernel = analysis::register_need(kernel);
  ir::walk_pre_order(kernel.body(), [&](ir::Op& op) {
    if (!op.is<ir::WarpSpecializeOp>()) return ir::Walk::advance;
    auto const& roles = op.as<ir::WarpSpecializeOp>();
    for (int i = 0; i < op.block_count(); ++i)
      if (roles.registers[i] != 0)
        result.roles.push_back({static_cast<int>(roles.registers[i]), analysis::register_need_of_role(op.block(i))});
    return ir::Walk::advance;
  });
  return result;
}

}  // namespace tegula::registers
