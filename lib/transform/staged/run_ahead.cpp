#include "transform/staged/run_ahead.hpp"

#include <algorithm>
#include <optional>
#include <set>
#include <unordered_set>

#include "analysis/effects.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/viewed.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/fills.hpp"
#include "transform/common/loop_regions.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;

/// Tells whether all readers release the stage that this fills in the iteration that fills it. The ring is then
/// released once in the loop, at no lag and without a condition.
bool released_here(std::int64_t ring, Op const& loop) {
  int here = 0, elsewhere = 0;
  ir::walk_pre_order(loop.block(), [&](Op& op) {
    if (op.is<ir::ElectOp>() && op.as<ir::ElectOp>().role == ir::Role::consumer && op.as<ir::ElectOp>().ring == ring)
      (op.as<ir::ElectOp>().lag == 0 && op.parent() == &loop.block() ? here : elsewhere) += 1;
    return ir::Walk::advance;
  });
  return here == 1 && elsewhere == 0;
}

/// Finds the ops that compute the fills' operands; nothing if these are more than indices and places.
std::optional<std::unordered_set<Op const*>> needed_by(std::vector<Op*> const& fills, Block const& body) {
  std::unordered_set<Op const*> needed;
  bool good = true;
  auto const need = [&](auto const& self, Op const& op) -> void {
    for (Value const* operand : op.operands()) {
      Op const* const from = operand->defining_op();
      if (from == nullptr || from->parent() != &body || !needed.insert(from).second) continue;
      bool const index = from->is(ir::Family::elementwise) || from->is<ir::ViewOp>() || from->is<ir::ConstantOp>() ||
                         (from->is<ir::LoadOp>() && from->result()->type().is_scalar());
      good = good && index && analysis::is_movable(*from);
      self(self, *from);
    }
  };
  for (Op const* fill : fills)
    ir::walk_pre_order(fill->block(), [&](Op& op) {
      need(need, op);
      return ir::Walk::advance;
    });
  if (!good) return std::nullopt;
  return needed;
}

/// Counts the fills of a ring in a block: several products of an iteration may take turns with one.
std::int64_t fills_of_ring(std::int64_t ring, Block const& block) {
  std::int64_t count = 0;
  for (Op const& op : block) count += fills(op) && filled_ring(op).ring == ring ? 1 : 0;
  return count;
}

/// Returns the form of the iterations that fill nothing. Products of wgmma are waited for after an epilogue. Those of
/// mma.sync are done when the next op runs: an epilogue is a second copy of the body, which takes registers.
Tail form_of_tail(PassContext const& context) {
  Choice const epilogue = context.options.epilogue;
  bool const apart = epilogue == Choice::on || (epilogue == Choice::automatic && context.target.has(Ability::wgmma));
  return apart ? Tail::epilogue : Tail::predicated;
}

bool let_run_ahead(Op& loop, Tail tail) {
  std::vector<Op*> fills_here;
  std::int64_t distance = 0;
  for (Op& op : loop.block()) {
    if (!fills(op)) continue;
    fills_here.push_back(&op);
    auto const [ring, stages] = filled_ring(op);
    std::int64_t const turns = stages / fills_of_ring(ring, loop.block());  // iterations that the ring holds
    std::int64_t const max = stages > 1 && released_here(ring, loop) ? turns : turns - 1;
    distance = fills_here.size() == 1 ? max : std::min(distance, max);
  }
  if (std::int64_t const asked = loop.as<ir::ForOp>().distance; asked != 0) distance = std::min(distance, asked);
  if (fills_here.empty() || distance < 1) return false;
  auto const needed = needed_by(fills_here, loop.block());
  if (!needed) return false;
  std::vector<StagedOp> order;
  for (Op& op : loop.block())
    if (!fills(op) && needed->count(&op) == 0 && !op.info().has(ir::terminator))
      order.push_back({&op, static_cast<int>(distance)});
  for (Op* fill : fills_here) order.push_back({fill, 0});
  LoopPipeline pipeline(loop, std::move(order));
  if (!pipeline.error().empty()) return false;
  for (Op* fill : fills_here) unmark(*fill);  // no pass moves them again
  pipeline.rewrite(tail);
  return true;
}

bool is_empty(Op const& op) {
  bool empty = op.is<ir::ElectOp>() || op.is<ir::IfOp>();
  for (int b = 0; b < op.block_count(); ++b)
    for (Op const& inner : op.block(b)) empty = empty && (inner.is<ir::YieldOp>() || inner.pure());
  return empty;
}

/// Takes out the ops that give a stage back: the arrival and the region around it. The barrier that makes a warp's
/// reads known to its elected lane goes too.
void erase_release(Op& arrive) {
  Op* around = arrive.parent_op();
  ir::erase_with_operands(arrive);
  while (around != nullptr && is_empty(*around)) {
    Op& region = *around;
    around = region.parent_op();
    auto at = region.parent()->begin();
    while (&*at != &region) ++at;
    if (region.is<ir::ElectOp>() && at != region.parent()->begin() && (--at)->is<ir::WarpBarrierOp>()) at->erase();
    ir::erase_with_operands(region);
  }
}

/// Tells whether the lane fills stages of other CTAs, too, whose readers it does not meet.
bool sends_to_peers(Op const& fill) {
  bool found = false;
  for (Op const& op : fill.block()) found = found || (op.is<ir::TmaLoadOp>() && op.as<ir::TmaLoadOp>().multicast != 0);
  return found;
}

/// Returns the empty barriers of the kernel's rings: fills wait for them, and the same block reads the filled stage.
/// Readers in an inner loop that has no iterations meet nobody, so the fill could be two phases ahead of their wait.
std::set<Op*> empty_barriers(ir::Function& function) {
  std::set<Op*> empties;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::MbarrierWaitOp>() && op.parent_op() != nullptr && fills(*op.parent_op()) &&
        !sends_to_peers(*op.parent_op()) && filled_ring(*op.parent_op()).ring != 0 &&
        !holds_a_loop(*op.parent_op()->parent()))
      empties.insert(ir::viewed(*op.in("mbarrier")).defining_op());
  });
  return empties;
}

/// Erases empty mbarriers: the lane that fills a ring meets the ring's readers at barriers of the CTA, which
/// insert-barriers adds.
void let_barriers_release(ir::Function& function, std::set<Op*> const& empties) {
  std::vector<Op*> uses;
  ir::walk(function, [&](Op& op) {
    bool const use = op.is<ir::MbarrierInitOp>() || op.is<ir::MbarrierArriveOp>() || op.is<ir::MbarrierWaitOp>();
    if (use && empties.count(ir::viewed(*op.in("mbarrier")).defining_op()) != 0) uses.push_back(&op);
  });
  for (Op* use : uses) use->is<ir::MbarrierArriveOp>() ? erase_release(*use) : ir::erase_with_operands(*use);
  for (Op* empty : empties)
    if (empty->result()->uses().empty()) empty->erase();
}

bool carries_products(Op const& loop) {
  for (int i = 0; i < loop.result_count(); ++i)
    if (loop.result(i)->type().is_pending()) return true;
  return false;
}

bool gives_back(Op const& loop) {
  bool found = false;
  ir::walk_pre_order(loop.block(), [&](Op& op) {
    found = found || op.is<ir::MbarrierArriveOp>();
    return ir::Walk::advance;
  });
  return found;
}

/// Tells whether threads write buffers in a loop, such as operands that products read.
bool stores(Op const& loop) {
  bool found = false;
  ir::walk_pre_order(loop.block(), [&](Op& op) {
    found = found || op.is<ir::BufferStoreOp>();
    return ir::Walk::advance;
  });
  return found;
}

/// Erases waits for products in an epilogue, which fills nothing: a wait after it ends all products that it carries.
/// An epilogue that releases stages through empty mbarriers keeps its waits, which show that products have read the
/// stages. So does one that writes operands again.
void leave_products_open(ir::Function& function) {
  std::vector<Op*> waits;
  ir::walk(function, [&](Op& op) {
    Op const* const loop = op.parent_op();
    bool const last = loop != nullptr && loop->is<ir::ForOp>() &&
                      loop->as<ir::ForOp>().region == ir::LoopRegion::epilogue && carries_products(*loop);
    if (last && op.is<ir::WgmmaWaitOp>() && op.result_count() == 0 && !gives_back(*loop) && !stores(*loop))
      waits.push_back(&op);
  });
  for (Op* wait : waits) wait->erase();
}

}  // namespace

PassResult run_ahead(ir::Function& function, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Op*> loops;
  bool specialised = false;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ForOp>()) loops.push_back(&op);
    specialised = specialised || op.is<ir::WarpSpecializeOp>();
  });
  if (specialised) return PassResult::unchanged;
  auto const empties = empty_barriers(function);
  bool changed = !empties.empty();
  for (Op* op : loops) changed = let_run_ahead(*op, form_of_tail(context)) || changed;
  let_barriers_release(function, empties);
  if (changed) leave_products_open(function);
  return result_of(changed);
}

}  // namespace tegula::transform
