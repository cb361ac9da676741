#include "analysis/register_need.hpp"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "analysis/register_pressure.hpp"
#include "ir/families.hpp"
#include "ir/walk.hpp"

namespace tegula::analysis {
namespace {

/// The assembler takes no smaller limit.
constexpr int least_registers = 24;

/// Weighs what a kernel keeps alive, all in registers of a thread. Tiles at ops that need whole ones count once each:
/// between such ops the assembler goes element by element. `scalars` are counters and places, of which it moves many to
/// the registers of the warp. `left` are the left operands of mma.sync that come from shared memory: they stay for all
/// columns, while right ones are read a few at a time.
struct Weights {
  double always;
  double scalars;
  double left;
};
constexpr Weights of_rows{7, 0.6, 0}, of_mma{3, 0.55, 0.9}, of_wgmma{21, 0.1, 1}, of_consumer{21, 0.2, 1.2};

/// A role without tiles starts copies: its places stay in the registers of the warp beyond so many.
constexpr int most_of_copies = 32;

/// Follows renamed registers to the op that made the tile.
ir::Op const* maker(ir::Value const& value) {
  ir::Op const* op = value.defining_op();
  while (op != nullptr && (op->is<ir::TransOp>() || op->is<ir::ReshapeOp>())) op = op->operands()[0]->defining_op();
  return op;
}

/// Holds what one block keeps alive.
struct Counts {
  int all = 0, of_tiles = 0, left = 0;
  bool mma = false, wgmma = false, tiles = false;
};

Counts count(ir::Block& block) {
  Counts result;
  std::unordered_set<ir::Value const*> operands;  // of mma, read from shared memory
  ir::walk_pre_order(block, [&](ir::Op& op) {
    result.wgmma = result.wgmma || op.is<ir::WgmmaOp>();
    for (int i = 0; i < op.result_count(); ++i) result.tiles = result.tiles || op.result(i)->type().is_tile();
    if (!op.is<ir::MmaOp>()) return ir::Walk::advance;
    result.mma = true;
    for (ir::Value const* operand : {op.lhs(), op.rhs()}) {
      ir::Op const* const made = maker(*operand);
      if (made == nullptr || !made->is<ir::BufferLoadOp>()) continue;
      operands.insert(operand);
      operands.insert(made->result());
      if (operand == op.lhs()) result.left = std::max(result.left, registers_of(*operand));
    }
    return ir::Walk::advance;
  });
  auto const all = [&](ir::Value const& value) { return operands.contains(&value) ? 0 : registers_of(value); };
  auto const of_tiles = [&](ir::Value const& value) {
    return value.type().is_tile() || value.type().is_pending() ? all(value) : 0;
  };
  result.all = pressure_at_whole_tiles(block, all);
  result.of_tiles = pressure_at_whole_tiles(block, of_tiles);
  return result;
}

int weighed(Counts const& counts, Weights const& weights) {
  double const scalars = counts.all - counts.of_tiles;
  return static_cast<int>(
      std::lround(weights.always + counts.of_tiles + weights.scalars * scalars + weights.left * counts.left));
}

}  // namespace

int register_need(ir::Function const& kernel) {
  int of_roles = 0;
  ir::walk_pre_order(kernel.body(), [&](ir::Op& op) {
    if (!op.is<ir::WarpSpecializeOp>()) return ir::Walk::advance;
    auto const& roles = op.as<ir::WarpSpecializeOp>();
    for (int i = 0; i < op.block_count(); ++i)
      if (roles.registers[i] != roles.registers[0])
        of_roles = std::max({of_roles, register_need_of_role(op.block(0)), register_need_of_role(op.block(i))});
    return ir::Walk::advance;
  });
  if (of_roles != 0) return std::max(of_roles, least_registers);
  Counts const counts = count(kernel.body());
  Weights const& weights = counts.wgmma ? of_wgmma : counts.mma ? of_mma : of_rows;
  return std::max(weighed(counts, weights), least_registers);
}

int register_need_of_role(ir::Block& role) {
  Counts const counts = count(role);
  if (!counts.tiles) return std::min(register_pressure(role), most_of_copies);
  return weighed(counts, of_consumer);
}

}  // namespace tegula::analysis
