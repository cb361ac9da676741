#include "transform/placed/take_turns.hpp"

#include <optional>
#include <vector>

#include "analysis/launch_cost.hpp"
#include "analysis/uniformity.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "tegula/target/target_info.hpp"
#include "transform/common/named_barriers.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;

/// Marks where an iteration's products begin and end.
struct Products {
  Op* first = nullptr;
  Op* last = nullptr;
};

/// True if the op, or one inside it, waits for other groups of warps.
bool meets_other_groups(Op& op) {
  bool found = op.is<ir::BarrierOp>();
  for (int i = 0; i < op.block_count() && !found; ++i)
    ir::walk(op.block(i), [&](Op& inside) { found = found || inside.is<ir::BarrierOp>(); });
  return found;
}

/// Finds the products of a loop whose exponentials are worth taking turns. A turn does not hold a barrier of several
/// groups: a group that waits for its turn would not come to it.
std::optional<Products> products_of(Block& body, TargetInfo const& target) {
  Products found;
  for (Op& op : body)
    if (op.is<ir::WgmmaCommitOp>()) found.last = &op;
  double products = 0, exponentials = 0;
  bool in_turn = true;
  for (Op& op : body) {
    if (in_turn && found.first != nullptr && meets_other_groups(op)) {
      if (products > 0) return std::nullopt;
      found.first = nullptr;
    }
    bool const starts = op.is<ir::WgmmaFenceOp>() || op.is<ir::WgmmaOp>();
    if (starts && found.first == nullptr) found.first = &op;
    if (&op == found.last) in_turn = false;
    if (op.is<ir::WgmmaOp>()) products += analysis::product_bytes(op);
    if ((op.is<ir::Exp2Op>() || op.is<ir::ExpOp>()) && op.result()->type().is_tile())
      exponentials += static_cast<double>(op.result()->type().elements());
  }
  analysis::Machine const machine = analysis::machine_of({&target});
  bool const worth =
      exponentials > 0 && products > 0 &&
      products / machine.product_bytes < target.tuning.turns_worth_exponentials * exponentials / machine.functions;
  if (!worth || found.last == nullptr) return std::nullopt;
  return found;
}

bool give_turns(Block& partition, std::int64_t groups, NamedBarriers& names, analysis::Uniformity const& uniformity,
                TargetInfo const& target) {
  std::vector<Products> loops;
  ir::walk(partition, [&](Op& op) {
    if (!op.is<ir::ForOp>() || !uniformity.is_uniform(op.block())) return;
    if (auto const products = products_of(op.block(), target)) loops.push_back(*products);
  });
  if (loops.empty()) return false;
  auto const first = names.take(groups);
  if (!first) return false;

  ir::Builder b = ir::Builder::before(partition.front());
  ir::Type const index = ir::Type::index(), boolean = ir::Type::scalar(Element::boolean);
  Value* const warp = b.value(ir::WarpIndexOp{}, {}, index);
  Value* const group = b.same(ir::ShrOp{}, {warp, b.index(2)});
  Value* const base = b.index(*first);
  Value* const mine = b.same(ir::AddOp{}, {group, base});
  Value* const last = b.value(ir::make_op<ir::CompareOp>(ir::Predicate::eq), {group, b.index(groups - 1)}, boolean);
  Value* const following = b.same(ir::AddOp{}, {mine, b.index(1)});
  Value* const next = b.value(ir::SelectOp{}, {last, base, following}, index);
  std::int64_t const threads = 2 * target.threads_per_group();
  Op& begin = b.op(ir::IfOp{}, {last}, {});
  ir::Builder then(begin.add_block());
  then.op(ir::make_op<ir::BarrierArriveOp>(threads, ir::Purpose::schedule), {base}, {});
  then.op(ir::YieldOp{}, {}, {});
  ir::Builder(begin.add_block()).op(ir::YieldOp{}, {}, {});
  for (Products const& products : loops) {
    ir::Builder::before(*products.first)
        .op(ir::make_op<ir::BarrierOp>(threads, ir::Purpose::schedule), {mine}, {})
        .set_where(products.first->where());
    ir::Builder::after(*products.last)
        .op(ir::make_op<ir::BarrierArriveOp>(threads, ir::Purpose::schedule), {next}, {})
        .set_where(products.last->where());
  }
  return true;
}

}  // namespace

PassResult take_turns(ir::Function& function, PassContext& context) {
  TargetInfo const& target = context.target;
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> splits;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::WarpSpecializeOp>()) splits.push_back(&op);
  });
  if (splits.empty()) return PassResult::unchanged;
  NamedBarriers names(function);
  bool changed = false;
  for (Op* op : splits) {
    auto const& roles = op->as<ir::WarpSpecializeOp>();
    for (int i = 0; i < op->block_count(); ++i) {
      std::int64_t const warps = roles.warps[i];
      if (roles.replicas[i] != 1 || warps % target.warps_per_group != 0 || warps == target.warps_per_group) continue;
      changed =
          give_turns(op->block(i), warps / target.warps_per_group, names, context.analyses.uniformity(), target) ||
          changed;
    }
  }
  return result_of(changed);
}

}  // namespace tegula::transform
