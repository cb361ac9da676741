#include "transform/staged/specialize_warps.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <unordered_set>

#include "analysis/effects.hpp"
#include "analysis/register_pressure.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/viewed.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/exchange.hpp"
#include "transform/common/dead_code.hpp"
#include "transform/common/fills.hpp"
#include "transform/common/role_registers.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Value;

bool in_fill(Op const& op) {
  for (Op const* at = &op; at != nullptr; at = at->parent_op())
    if (fills(*at)) return true;
  return false;
}

std::vector<Op*> fills_in(Block& block) {
  std::vector<Op*> result;
  ir::walk_pre_order(block, [&](Op& op) {
    if (fills(op)) result.push_back(&op);
    return ir::Walk::advance;
  });
  return result;
}

bool makes_tile(Op const& op) {
  for (int i = 0; i < op.result_count(); ++i)
    if (op.result(i)->type().in_registers()) return true;
  return false;
}

using Ops = std::unordered_set<Op const*>;

/// True when the op itself takes a result of one of `makers`.
bool takes_any_of(Op const& op, Ops const& makers) {
  auto const& operands = op.operands();
  return std::any_of(operands.begin(), operands.end(),
                     [&](Value const* operand) { return makers.count(operand->defining_op()) != 0; });
}

/// True when the op, or one in its regions, takes a result of one of `makers`.
bool reads_any_of(Op const& op, Ops const& makers) {
  if (takes_any_of(op, makers)) return true;
  for (int i = 0; i < op.block_count(); ++i)
    for (Op const& inner : op.block(i))
      if (reads_any_of(inner, makers)) return true;
  return false;
}

class Specialization {
 public:
  Specialization(ir::Function& function, PassContext& context) : function_(function), context_(context) {}

  bool run() {
    Op* const last = header_end();
    if (last == nullptr || !has_producer_threads() || !copies_again() || meets_at_cta_barrier(*last)) return false;
    hoist_launch_statements(*last);
    lower_rows(*last);
    std::vector<Op*> region;
    std::vector<Op*> moving;  // ahead of the region, but of the consumers' warps alone
    Ops consumed;             // the same
    std::vector<Op*> end;     // where the warps of all roles meet those of the other CTAs
    bool after = false;
    for (Op& op : function_.body()) {
      if (op.info().has(ir::terminator)) break;
      if (after && (!end.empty() || meets_cluster(op)))
        end.push_back(&op);
      else if (after)
        region.push_back(&op);
      else if (makes_tile(op) || op.is<ir::WarpIndexOp>() || analysis::effects_of(op).reports ||
               reads_any_of(op, consumed))
        moving.push_back(&op), consumed.insert(&op);
      after = after || &op == last;
    }
    ir::WarpSpecializeOp roles;
    roles.warps = {producer_warps, function_.warps};
    roles.replicas = {1, 1};
    roles.registers = registers_of_roles(function_.warps, context_.target);
    Op& split = ir::Builder::before(function_.body().back()).op(roles, {}, {});
    split.set_where(function_.where);
    if (!make_producer(split.add_block(), region, consumed)) {
      split.erase();
      return false;
    }
    moving.insert(moving.end(), region.begin(), region.end());
    make_consumer(split.add_block(), moving);
    count_arrivals(split.block(0));
    if (std::int64_t const asked = registers_of_copies(split.block(0)); asked != 0) give_registers(split, asked);
    for (Op* op : end) op->move_before(function_.body().back());
    function_.warps += producer_warps;
    function_.ctas = 1;  // roles share the registers of a whole multiprocessor
    return true;
  }

 private:
  /// Gives the producer so many registers if the consumers can spare them. Threads that copy rows take fewer, too.
  void give_registers(Op& split, std::int64_t asked) const {
    int const needed = analysis::register_pressure(split.block(1)) + context_.target.tuning.spare_registers;
    bool const rows = copies_rows(split.block(0));
    for (; asked > 0; asked -= context_.target.register_step) {
      Extents const registers = registers_of_roles(function_.warps, context_.target, asked);
      bool const fits = needed <= registers[1];
      if (fits) split.as<ir::WarpSpecializeOp>().registers = registers;
      if (fits || !rows) return;
    }
  }

  static bool copies_rows(Block& producer) {
    bool found = false;
    ir::walk(producer,
             [&](Op const& op) { found = found || op.is<ir::CpAsyncGatherOp>() || op.is<ir::CpAsyncCoverOp>(); });
    return found;
  }

  /// Returns the registers for so many rows of a thread: an index, and a few addresses that code generation keeps.
  static std::int64_t of_rows(std::int64_t count) {
    constexpr std::int64_t max_kept = 8, of_address = 2;
    return count + (count <= max_kept ? of_address * count : 0);
  }

  /// Returns the registers that a producer needs for the places of its copies; 0: few.
  static std::int64_t registers_of_copies(Block& producer) {
    constexpr std::int64_t few = 4, of_loop = 24, of_copy = 4, max = 96;
    std::map<Block const*, std::int64_t> copies, rows_of_block;
    constexpr std::int64_t of_pieces = 72;  // addresses of rows, and what of them lies inside
    std::int64_t most = 0, rows = 0, pieces = 0;
    ir::walk(producer, [&](Op& op) {
      if (ir::copies_in(op)) most = std::max(most, ++copies[op.parent()]);
      if (op.is<ir::CpAsyncCoverOp>()) pieces = of_pieces;
      if (!op.is<ir::CpAsyncGatherOp>()) return;
      for (Value const* index : op.all<ir::CpAsyncGatherOp>("indices"))
        if (index->type().is_tile())
          rows = std::max(rows, rows_of_block[op.parent()] += of_rows(index->type().layout()->registers()));
    });
    if (rows > 0) return std::max(std::min((2 * of_loop + of_copy * most + rows + 7) / 8 * 8, max), pieces);
    if (pieces > 0) return pieces;
    return most <= few ? 0 : std::min((of_loop + of_copy * most + 7) / 8 * 8, max);
  }

  /// Moves tiles from which rows that threads copy follow after the header, where both sides begin. Nothing but fills
  /// needs them.
  void lower_rows(Op& header_end) {
    Ops needed;
    auto const need = [&](auto const& self, Op const& op) -> void {
      for (Value const* operand : op.operands())
        if (Op const* const from = operand->defining_op(); from != nullptr && needed.insert(from).second)
          self(self, *from);
    };
    for (Op* fill : fills_in(function_.body()))
      if (fill->is<ir::FillOp>())
        for (Op const& op : fill->block()) need(need, op);
    std::vector<Op*> moving;
    for (Op& op : function_.body()) {
      if (makes_tile(op) && needed.count(&op) != 0) moving.push_back(&op);
      if (&op == &header_end) break;
    }
    auto after = function_.body().begin();
    while (&*after != &header_end) ++after;
    Op& next = *++after;
    for (Op* op : moving) op->move_before(next);
  }

  /// Lets mbarriers at which threads arrive expect those of the producer, instead of all of the CTA.
  void count_arrivals(Block& producer) const {
    Ops done;
    ir::walk(producer, [&](Op& op) {
      if (!op.is<ir::CpAsyncArriveOp>()) return;
      Value const& all = ir::viewed(*op.in<ir::CpAsyncArriveOp>("mbarrier"));
      if (!done.insert(all.defining_op()).second) return;
      for (ir::Use const& use : all.uses())
        if (auto* const init = use.user->dyn<ir::MbarrierInitOp>())
          init->arrivals += context_.target.lanes * (producer_warps - function_.warps);
    });
  }

  /// Tells whether the op begins the meeting of the cluster at the end of the kernel.
  static bool meets_cluster(Op& op) {
    auto next = op.parent()->begin();
    while (&*next != &op) ++next;
    return op.is<ir::WarpBarrierOp>() && (++next)->is<ir::ClusterArriveOp>();
  }

  /// Finds the op that publishes mbarriers before the first fill; null: nothing to split.
  Op* header_end() {
    Op* last = nullptr;
    for (Op& op : function_.body()) {
      if (op.is<ir::WarpSpecializeOp>()) return nullptr;
      bool const begins = op.is<ir::ElectOp>() && op.as<ir::ElectOp>().region == ir::LoopRegion::pre_prologue;
      if (begins || op.is<ir::BarrierOp>() || op.is<ir::ClusterWaitOp>()) last = &op;
      bool found = fills(op);
      for (int i = 0; i < op.block_count(); ++i) found = found || !fills_in(op.block(i)).empty();
      if (found) return last;
    }
    return nullptr;
  }

  /// Tells whether a CTA has threads for a producer. Specialization `on` refuses the kernel where it has none.
  bool has_producer_threads() {
    int const possible = context_.target.threads / context_.target.lanes;
    if (context_.options.specialization == Choice::on || function_.warps + producer_warps <= possible) return true;
    context_.diagnostics.remark(
        fmt::format("specialize-warps: copies do not get separate warps: {} warps compute, and a CTA has {}",
                    function_.warps, possible),
        function_.where);
    return false;
  }

  /// Tells whether some copy stands in a loop. Others are on their way when the warps wait for them, and roles would
  /// keep the multiprocessor from other CTAs.
  bool copies_again() {
    std::vector<Op*> const fills = fills_in(function_.body());
    auto const repeats = [](Op const* fill) { return ir::loop_around(*fill->parent()) != nullptr; };
    if (context_.options.specialization == Choice::on || std::any_of(fills.begin(), fills.end(), repeats)) return true;
    context_.diagnostics.remark("specialize-warps: copies do not get separate warps: none stands in a loop",
                                function_.where);
    return false;
  }

  /// Tells whether all warps of the CTA meet after the header: at a barrier of the kernel's text, or where they
  /// exchange. Producers do not arrive there.
  bool meets_at_cta_barrier(Op const& header_end) {
    Op const* found = nullptr;
    bool after = false;
    for (Op& outer : function_.body()) {
      auto const look = [&](Op& op) {
        bool const meets = ir::scratch_bytes(op) > 0 || (after && op.is<ir::BarrierOp>() && op.operand_count() == 0);
        if (found == nullptr && meets) found = &op;
      };
      look(outer);
      for (int i = 0; i < outer.block_count(); ++i) ir::walk(outer.block(i), look);
      after = after || &outer == &header_end;
    }
    if (found != nullptr)
      context_.diagnostics.remark("specialize-warps: copies do not get separate warps: all warps of the CTA meet in " +
                                      std::string(found->info().mnemonic),
                                  found->where());
    return found != nullptr;
  }

  /// Moves grid, requirements, tensor maps and buffers out: they belong into the kernel's outermost block.
  void hoist_launch_statements(Op& last) {
    std::vector<Op*> moving;
    std::unordered_set<Op const*> after;
    bool found = false;
    for (Op& op : function_.body()) {
      if (found) after.insert(&op);
      found = found || &op == &last;
    }
    std::unordered_set<Op const*> taken;
    auto const take = [&](auto const& self, Op& op) -> void {
      if (after.count(&op) == 0 || !taken.insert(&op).second) return;
      for (Value* operand : op.operands())
        if (operand->defining_op() != nullptr) self(self, *operand->defining_op());
      moving.push_back(&op);
    };
    for (Op& op : function_.body())
      if (op.is(ir::Family::launch) || op.is<ir::TensorMapOp>() || op.is<ir::BufferAllocOp>()) take(take, op);
    for (Op* op : moving) op->move_before(last);
  }

  /// False where copies depend on an op of the consumers: one of a collective, a tile, a warp's number, or of
  /// `consumed`. Tiles are the producer's own where its threads copy rows.
  bool make_producer(Block& block, std::vector<Op*> const& region, Ops const& consumed) {
    block.add_argument(ir::Type::index(), "producer");
    ir::Builder builder(block);
    bool by_threads = false;
    for (Op* fill : fills_in(function_.body())) by_threads = by_threads || fill->is<ir::FillOp>();
    Block* lane = &block;
    if (!by_threads) {
      Op& elect = builder.op(ir::ElectOp{}, {}, {});
      builder.op(ir::YieldOp{}, {}, {});
      lane = &elect.add_block();
    }
    ir::Builder inside(*lane);
    ir::ValueMap map;
    for (Op const* op : region) inside.clone(*op, map);
    inside.op(ir::YieldOp{}, {}, {});
    keep_only(*lane, in_fill);
    for (Op* fill : fills_in(*lane)) {
      if (by_threads && fill->is<ir::ElectOp>()) {
        unmark(*fill);
        continue;
      }
      ir::splice_before(*fill, fill->block());
      fill->erase();
    }
    bool good = true;
    ir::walk_pre_order(*lane, [&](Op& op) {
      bool const of_consumers = (makes_tile(op) && !by_threads) || op.is<ir::WarpIndexOp>() ||
                                op.info().has(ir::collective) || ir::scratch_bytes(op) > 0 ||
                                (analysis::is_global_read(op) && !analysis::reads_constant_memory(op));
      if (good && (of_consumers || takes_any_of(op, consumed))) {
        good = false;
        context_.diagnostics.remark(
            "specialize-warps: copies do not get separate warps: the address of a copy depends on " +
                std::string(op.info().mnemonic),
            op.where());
      }
      return ir::Walk::advance;
    });
    return good;
  }

  static void make_consumer(Block& block, std::vector<Op*> const& ops) {
    block.add_argument(ir::Type::index(), "consumer");
    ir::Builder builder(block);
    Op& yield = builder.op(ir::YieldOp{}, {}, {});
    for (Op* op : ops) op->move_before(yield);
    bool by_threads = false;
    for (Op* fill : fills_in(block)) {
      by_threads = by_threads || fill->is<ir::FillOp>();
      fill->erase();
    }
    if (by_threads) keep_only(block, runs_by_itself);  // without the rows that threads copied
  }

  ir::Function& function_;
  PassContext& context_;
};

}  // namespace

PassResult specialize_warps(ir::Function& function, PassContext& context) {
  if (!function.is_kernel() || !copies_apart(context.options.specialization, context.target))
    return PassResult::unchanged;
  return result_of(Specialization(function, context).run());
}

}  // namespace tegula::transform
