#include "registers/model.hpp"

#include "analysis/register_need.hpp"
#include "ir/core/walk.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::registers {

Estimate estimate_of(ir::Function const& kernel) {
  Estimate result;
  analysis::RegisterNeed const need = analysis::register_need(kernel, sm_90a);
  result.kernel = analysis::registers_needed(kernel);
  result.spills = need.spills();
  result.warns = need.surely_spills();
  ir::walk_pre_order(kernel.body(), [&](ir::Op& op) {
    if (!op.is<ir::WarpSpecializeOp>()) return ir::Walk::advance;
    auto const& roles = op.as<ir::WarpSpecializeOp>();
    for (int i = 0; i < op.block_count(); ++i)
      if (roles.registers[i] != 0)
        result.roles.push_back({static_cast<int>(roles.registers[i]), analysis::registers_of_role(op.block(i))});
    return ir::Walk::advance;
  });
  return result;
}

}  // namespace tegula::registers
