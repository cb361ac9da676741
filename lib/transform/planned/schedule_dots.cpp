#include "transform/planned/schedule_dots.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>

#include "analysis/shared_accesses.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/values/constant_of.hpp"
#include "layout/fragment_layouts.hpp"
#include "layout/parts.hpp"
#include "layout/shared_layouts.hpp"
#include "tegula/support/error.hpp"
#include "transform/common/carried.hpp"
#include "transform/common/dot_chains.hpp"
#include "transform/common/dot_paths.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/role_registers.hpp"
#include "transform/common/tf32_bits.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Loop;
using ir::Op;
using ir::Type;
using ir::Value;
using layout::Layout;

constexpr std::int64_t widest_swizzle_alignment = layout::swizzle_alignment(128);

/// Returns the store to a buffer of its own from which a product reads a view; null: it reads a copied tile.
Op* store_of(Value const& view) {
  if (view.defined_by<ir::BufferAllocOp>() == nullptr) return nullptr;
  for (ir::Use const& use : view.uses())
    if (use.is<ir::BufferStoreOp>("destination")) return use.user;
  return nullptr;
}

constexpr std::int64_t word_bytes = 4;

/// Tells whether all operands of a loop's only product are loaded by the warps, or shifted beside copied ones: the next
/// ones come while it runs. Each loaded element takes a register on its way, shifted ones fill words; sums that have to
/// move would serialise the products (C7514).
bool loads_beside(Op const& dot, TargetInfo const& target) {
  int const warps = dot.function()->warps;
  std::int64_t registers = dot.result()->type().elements();
  bool copies = false, shifts = false;
  for (Value const* operand : {dot.lhs(), dot.rhs()}) {
    Op const* const store = store_of(*fetched_operand(*operand).view);
    copies = copies || store == nullptr;
    if (store == nullptr) continue;
    Value const& loaded = *store->in<ir::BufferStoreOp>("value");
    bool const shifted = loaded.defined_by<ir::ShiftedLoadOp>() != nullptr;
    if (!shifted && loaded.defined_by<ir::LoadOp>() == nullptr) return false;
    shifts = shifts || shifted;
    registers += loaded.type().elements() * (shifted ? bytes(loaded.type().element()) : word_bytes) / word_bytes;
  }
  if ((copies && !shifts) || registers / (std::int64_t{warps} * target.lanes) + target.tuning.registers_beside_product >
                                 target.registers_at_start(warps))
    return false;
  for (Op const& op : *dot.parent())
    if (op.block_count() > 0 || (op.is<ir::DotOp>() && &op != &dot)) return false;
  return true;
}

/// Returns the carried value to which a product adds that stays open from one iteration to the next. Registers of a
/// left operand would have to live as long: none then. An operand in a buffer of its own is written again in the next
/// iteration: none then either, unless loads run until that is done.
std::optional<Carry> open_carry(Op const& dot, TargetInfo const& target) {
  bool own = false;
  for (Value const* operand : {dot.lhs(), dot.rhs()}) {
    Value const* const view = fetched_operand(*operand).view;
    if (view == nullptr) return std::nullopt;
    own = own || view->defined_by<ir::BufferAllocOp>() != nullptr;
  }
  if (own && !loads_beside(dot, target)) return std::nullopt;
  return own_carry(dot, *dot.in<ir::DotOp>("accumulator"));
}

/// Returns the chain that begins with this product if all its products stay open: of one shape, with copied operands.
std::optional<DotChain> open_chain(Op& dot) {
  auto chain = chain_from(dot);
  if (!chain) return std::nullopt;
  auto const& first = dot.as<ir::DotOp>();
  for (Op const* next : chain->dots) {
    auto const& plan = next->as<ir::DotOp>();
    bool const alike = plan.path == ir::ProductPath::wgmma && plan.warps == first.warps &&
                       next->lhs()->type().element() == dot.lhs()->type().element() &&
                       next->rhs()->type().element() == dot.rhs()->type().element();
    if (!alike || plan.left != ir::OperandPlace::copied || plan.right != ir::OperandPlace::copied) return std::nullopt;
  }
  return chain;
}

/// Products that were issued and are waited for where the last one's result is needed. Each adds to the one before.
struct OpenProducts {
  std::vector<Op*> dots;  ///< stand until the wait is made
  Op* commit;
  Value* product;                 ///< of the last one
  std::vector<Value*> registers;  ///< left operands that products read from registers
};

class Schedule {
 public:
  Schedule(ir::Function& function, PassContext& context) : function_(function), context_(context) {}

  bool run() {
    ir::walk(function_, [&](Op& op) {
      if (op.is<ir::DotOp>()) dots_.push_back(&op);
    });
    if (dots_.empty()) return false;
    bool const truncates = takes_upper_bits(function_);
    for (Op const* dot : dots_)
      if (std::string const why = why_not_as_planned(*dot); !why.empty()) {
        context_.diagnostics.error("schedule-dots: the product cannot go as its plan says: " + why, dot->where());
        return false;
      }
    for (Op* dot : dots_) store_operands(*dot);
    for (Op* dot : dots_) {
      if (in_chain_.count(dot) != 0) continue;  // issued with the first one, and erased
      auto const& plan = dot->as<ir::DotOp>();
      switch (plan.path) {
        case ir::ProductPath::wgmma:
          if (auto const chain = open_chain(*dot))
            carried_in_turn(*chain);
          else if (auto const carry = open_carry(*dot, context_.target))
            carried(*dot, *carry);
          else
            waited_for(*dot);
          break;
        case ir::ProductPath::mma:
          warp_by_warp(*dot);
          break;
        case ir::ProductPath::lanes:
          multiply_by_lanes(*dot, why_lanes(*dot), truncates && plan.precision == ir::DotPrecision::tf32);
          break;
        case ir::ProductPath::open:
          throw InternalError("schedule-dots: a dot without a path");
      }
    }
    for (auto const& [loop, groups] : pending_groups_) close_loop(Loop(*loop), groups);
    for (OpenProducts const& open : open_) wait_for(open);
    state_open_groups(function_.body());
    std::vector<Op*> loops;
    ir::walk(function_, [&](Op& op) {
      if (op.is<ir::ForOp>()) loops.push_back(&op);
    });
    for (Op* loop : loops) close_before_reads(Loop(*loop));
    return true;
  }

 private:
  /// Stores the operands that the plan says to where wgmma reads them: right ones, and left ones that are transposed,
  /// since other warps have computed their rows.
  void store_operands(Op& dot) const {
    auto const& plan = dot.as<ir::DotOp>();
    bool const right = plan.right == ir::OperandPlace::stored, left = plan.left == ir::OperandPlace::stored;
    if (!right && !left) return;
    StoredOperands const stored = stored_operands(dot, context_.target);
    if (right)
      dot.set_operand(dot.position("rhs"), stored_operand(dot, dot.rhs(), stored.right, widest_swizzle_alignment));
    if (!left) return;
    if (!Factor{dot.lhs()}.is_transpose())
      return dot.set_operand(dot.position("lhs"),
                             stored_operand(dot, dot.lhs(), stored.left, widest_swizzle_alignment));
    Op& turned = *dot.lhs()->defining_op();
    Value* const tile = stored_operand(dot, turned.operand(), stored.left, widest_swizzle_alignment);
    ir::Builder builder = ir::Builder::before(dot);
    builder.set_where(dot.where());
    dot.set_operand(dot.position("lhs"), builder.value(turned.as<ir::TransOp>(), {tile}, dot.lhs()->type()));
  }

  /// Explains why a product cannot go as it states, for plans that stand in a text. Empty: it can.
  [[nodiscard]] std::string why_not_as_planned(Op const& dot) const {
    auto const& plan = dot.as<ir::DotOp>();
    if (plan.swapped) return "it is to be swapped; swap-operands must come before schedule-dots";
    if (plan.path == ir::ProductPath::lanes) return {};
    if (plan.warps.size() < 2 || plan.warps.size() > 3) return "it states no warps along rows and columns";
    layout::WarpGrid const grid = grid_of(dot);
    if (grid.warps() != function_.warps)
      return fmt::format("{} warps, but the kernel has {}", grid.warps(), function_.warps);
    return plan.path == ir::ProductPath::mma ? why_not_by_mma(dot, grid) : why_not_by_wgmma(dot, grid);
  }

  [[nodiscard]] std::string why_not_by_mma(Op const& dot, layout::WarpGrid grid) const {
    std::int64_t const step = dot.as<ir::DotOp>().step;
    std::string why = why_not_mma(dot, function_.warps, context_.target);
    if (why.empty()) (void)layout::mma_layout(dot.result()->type().shape(), grid, why);
    if (!why.empty() || step == 0) return why;
    std::int64_t const depth = context_.target.mma.depth_bytes / bytes(dot.lhs()->type().element());
    bool const readable = dot.lhs()->type().shape()[1] % step == 0 && step % depth == 0 &&
                          (in_registers(*dot.lhs()) || readable_in_parts(*dot.lhs(), true, step)) &&
                          readable_in_parts(*dot.rhs(), false, step);
    return readable ? "" : fmt::format("K is not read {} elements at a time", step);
  }

  [[nodiscard]] std::string why_not_by_wgmma(Op const& dot, layout::WarpGrid grid) const {
    auto const& plan = dot.as<ir::DotOp>();
    StoredOperands stored;
    if (plan.right == ir::OperandPlace::stored || plan.left == ir::OperandPlace::stored)
      stored = stored_operands(dot, context_.target);
    if (plan.right != ir::OperandPlace::stored) stored.right = nullptr;
    if (plan.left != ir::OperandPlace::stored) stored.left = nullptr;
    target::Finding why = why_not_wgmma(dot, context_.target, stored);
    if (!why.empty()) return why.text();
    int const cta_warps = function_.warps + producer_warps;
    auto const grids = wgmma_grids(dot, stored, function_.warps, cta_warps, context_.target, why);
    if (std::find(grids.begin(), grids.end(), grid) != grids.end()) return {};
    return why.empty() ? "wgmma does not divide it among the warps so" : why.text();
  }

  /// Returns the arrangement of the warps that the plan states.
  static layout::WarpGrid grid_of(Op const& dot) {
    Extents const& warps = dot.as<ir::DotOp>().warps;
    return {static_cast<int>(warps[0]), static_cast<int>(warps[1]), warps.size() > 2 ? static_cast<int>(warps[2]) : 1};
  }

  /// Returns the operand as wgmma takes it.
  static Value* operand_of(ir::Builder& builder, Value* tile, layout::WarpGrid grid) {
    FetchedOperand const source = fetched_operand(*tile);
    if (source.view != nullptr)
      return source.transposed ? builder.value(ir::TransViewOp{}, {source.view}, view_type(source)) : source.view;
    std::string why;
    Type const& type = tile->type();
    Layout const* const layout = layout::wgmma_a_layout(type.shape(), bytes(type.element()), grid, why);
    return builder.value(ir::ConvertLayoutOp{}, {tile}, type.with_layout(layout));
  }

  /// Returns a tile in a product's layout; zeros are made there.
  static Value* laid_out(ir::Builder& builder, Value* tile, Layout const* layout) {
    // The result of a loop that is still to be closed is pending; its users will get what the wait returns.
    Type const type = tile->type().as(ir::TypeKind::tile).with_layout(layout);
    if (is_zero(*tile)) return builder.constant(tile->defining_op()->as<ir::ConstantOp>().value, type);
    return builder.value(ir::ConvertLayoutOp{}, {tile}, type);
  }

  /// Issues a chain's products one after the other, and waits for each when the next one is issued: its operands'
  /// stages are free then.
  void carried_in_turn(DotChain const& chain) {
    for (std::size_t i = 0; i < chain.dots.size(); ++i) {
      Op& dot = *chain.dots[i];
      in_chain_.insert(&dot);
      Op& commit = open_product(dot, chain.carry, *dot.in<ir::DotOp>("accumulator"));
      if (i + 1 == chain.dots.size()) {
        close_behind(chain.carry, commit);
        continue;
      }
      ir::Builder after = ir::Builder::after(commit);
      after.set_where(commit.where());
      after.op(ir::make_op<ir::WgmmaWaitOp>(std::int64_t{1}), {}, {});
    }
  }

  void carried(Op& dot, Carry const& carry) {
    close_behind(carry, open_product(dot, carry, *carry.loop.carried(carry.number)));
  }

  /// Remembers the last commit to a carried sum.
  void close_behind(Carry const& carry, Op& commit) {
    auto const found = std::find_if(pending_groups_.begin(), pending_groups_.end(),
                                    [&](PendingLoop const& known) { return known.loop == &carry.loop.op(); });
    PendingLoop& known =
        found != pending_groups_.end() ? *found : pending_groups_.emplace_back(PendingLoop{&carry.loop.op(), {}});
    known.groups.push_back({&commit, carry.number});
  }

  /// Issues and commits a product that adds to `sum`, which stays open over the iterations of its loop.
  static Op& open_product(Op& dot, Carry const& carry, Value& sum) {
    auto const& [loop, k] = carry;
    std::string why;
    Layout const* const layout = layout::wgmma_layout(dot.result()->type().shape(), grid_of(dot), why);
    Type const pending = dot.result()->type().with_layout(layout).as(ir::TypeKind::pending);

    ir::Builder before = ir::Builder::before(loop.op());
    before.set_where(dot.where());
    if (&sum == loop.carried(k)) {
      loop.set_init(k, laid_out(before, loop.init(k), layout));
      loop.carried(k)->set_type(pending);
      loop.result(k)->set_type(pending);
    }

    ir::Builder builder = ir::Builder::before(dot);
    builder.set_where(dot.where());
    Value* const a = operand_of(builder, dot.lhs(), grid_of(dot));
    Value* const b = operand_of(builder, dot.rhs(), grid_of(dot));
    // Products of one shape on the same accumulators need none between (PTX: wgmma.fence), but ptxas puts it in.
    Value* const fenced = builder.value(ir::make_op<ir::WgmmaFenceOp>(ir::Purpose::schedule), {&sum}, pending);
    Value* const product = builder.value(ir::WgmmaOp{}, {a, b, fenced}, pending);
    Op& commit = builder.op(ir::WgmmaCommitOp{}, {}, {});
    ir::replace(dot, product);
    return commit;
  }

  /// Tells whether products read a buffer, as it lies or turned.
  static bool products_read(Value const& buffer) {
    return std::any_of(buffer.uses().begin(), buffer.uses().end(), [](ir::Use const& use) {
      return use.user->is<ir::WgmmaOp>() || (use.user->is<ir::TransViewOp>() && products_read(*use.user->result()));
    });
  }

  /// Returns the first store to a buffer that the product of a loop reads; null: it reads copied tiles.
  static Op* first_store(Loop const& loop, Op const& commit) {
    for (Op& op : loop.body()) {
      if (&op == &commit) break;
      if (!op.is<ir::BufferStoreOp>()) continue;
      if (products_read(*op.in<ir::BufferStoreOp>("destination"))) return &op;
    }
    return nullptr;
  }

  /// Fences what products add to, once ahead of the loop for all of them. Waits in the loop for the products of the
  /// iteration before, where their operands are written again or after the products of this one; after it for all.
  static void close_loop(Loop const& loop, std::vector<std::pair<Op*, int>> const& groups) {
    ir::Builder before = ir::Builder::before(loop.op());
    before.set_where(groups.front().first->where());
    std::vector<Value*> starts;
    std::vector<Type> started;
    for (auto const& [commit, carry] : groups) {
      starts.push_back(loop.init(carry));
      started.push_back(loop.result(carry)->type());
    }
    Op& fence = before.op(ir::WgmmaFenceOp{}, starts, started);
    for (std::size_t i = 0; i < groups.size(); ++i) loop.set_init(groups[i].second, fence.result(static_cast<int>(i)));
    Op* const store = first_store(loop, *groups.back().first);
    ir::Builder inside = store != nullptr ? ir::Builder::before(*store) : ir::Builder::after(*groups.back().first);
    inside.set_where(groups.back().first->where());
    std::int64_t const open_groups = store != nullptr ? 0 : static_cast<std::int64_t>(groups.size());
    inside.op(ir::make_op<ir::WgmmaWaitOp>(open_groups), {}, {});
    ir::Builder after = ir::Builder::after(loop.op());
    after.set_where(groups.back().first->where());
    std::vector<Value*> open;
    std::vector<Type> done;
    std::vector<std::vector<ir::Use>> uses;
    for (auto const& [commit, carry] : groups) {
      Value* const value = loop.result(carry);
      uses.push_back(value->uses());
      open.push_back(value);
      done.push_back(value->type().as(ir::TypeKind::tile));
    }
    Op& wait = after.op(ir::WgmmaWaitOp{}, open, done);
    for (std::size_t i = 0; i < open.size(); ++i) {
      if (uses[i].empty()) continue;
      Value* const tile = wait.result(static_cast<int>(i));
      Value* const free = after.value(ir::ConvertLayoutOp{}, {tile}, tile->type().with_layout(nullptr));
      free->set_name(open[i]->name());
      for (ir::Use const& use : uses[i]) use.user->set_operand(use.index, free);
    }
  }

  /// Returns the open products to whose result this one alone adds, in the same registers and instructions of the same
  /// shape; null: there are none.
  OpenProducts* added_to(Op const& dot) {
    Value const& accumulator = *dot.in<ir::DotOp>("accumulator");
    auto const open = std::find_if(open_.begin(), open_.end(), [&](OpenProducts const& known) {
      return known.dots.back() == accumulator.defining_op();
    });
    if (open == open_.end() || open->dots.back()->parent() != dot.parent() || accumulator.uses().size() != 1)
      return nullptr;
    Op const& before = *open->dots.back();
    bool const alike = before.lhs()->type().element() == dot.lhs()->type().element() &&
                       before.rhs()->type().element() == dot.rhs()->type().element();
    return alike && &first_that_needs(*open) == &dot ? &*open : nullptr;
  }

  void waited_for(Op& dot) {
    std::string why;
    Layout const* const layout = layout::wgmma_layout(dot.result()->type().shape(), grid_of(dot), why);
    Type const tile = dot.result()->type().with_layout(layout), pending = tile.as(ir::TypeKind::pending);
    OpenProducts* const before = added_to(dot);
    ir::Builder builder = ir::Builder::before(dot);
    builder.set_where(dot.where());
    Value* a = operand_of(builder, dot.lhs(), grid_of(dot));
    Value* const b = operand_of(builder, dot.rhs(), grid_of(dot));
    std::vector<Value*> operands;  // of the fence: the registers that the product reads
    std::vector<Type> types;
    auto const fence = [&](Value* value) {
      operands.push_back(value);
      types.push_back(value->type());
    };
    Value* const accumulator = dot.in<ir::DotOp>("accumulator");
    bool const accumulates = !is_zero(*accumulator), in_registers = a->type().is_tile();
    if (accumulates) fence(before != nullptr ? before->product : laid_out(builder, accumulator, layout));
    if (in_registers) fence(a);
    // As in `carried`: ptxas puts one in between products that need none.
    auto const purpose = before != nullptr && !in_registers ? ir::Purpose::schedule : ir::Purpose::order;
    Op& fenced = builder.op(ir::make_op<ir::WgmmaFenceOp>(purpose), operands, types);
    if (in_registers) a = fenced.result(accumulates ? 1 : 0);
    std::vector<Value*> factors = {a, b};
    if (accumulates) factors.push_back(fenced.result(0));
    Value* const product = builder.op(ir::WgmmaOp{}, factors, {pending}).result();
    OpenProducts open;
    if (before != nullptr) {  // one group
      open = *before;
      open_.erase(open_.begin() + (before - open_.data()));
      open.commit->erase();
    }
    open.dots.push_back(&dot);
    open.commit = &builder.op(ir::WgmmaCommitOp{}, {}, {});
    open.product = product;
    if (in_registers) open.registers.push_back(a);
    open_.push_back(std::move(open));
  }

  /// Returns the first op after products that needs them done.
  static Op& first_that_needs(OpenProducts const& open) {
    std::vector<Op*> next;
    for (Op const* dot : open.dots) next.push_back(sink_next(*dot->lhs()));
    auto const& uses = open.dots.back()->result()->uses();
    auto const stops = [&](Op& op) {
      bool stop = std::find(next.begin(), next.end(), &op) != next.end() || op.info().has(ir::terminator);
      stop = stop || std::any_of(uses.begin(), uses.end(),
                                 [&](ir::Use const& use) { return analysis::is_inside(*use.user, op); });
      for (int i = 0; i < op.block_count() && !stop; ++i)
        ir::walk(op.block(i), [&](Op& nested) { stop = stop || nested.is<ir::WgmmaCommitOp>(); });
      return stop;
    };
    auto at = open.commit->parent()->begin();
    while (&*at != open.commit) ++at;
    for (++at; !stops(*at);) ++at;
    return *at;
  }

  /// Waits for products before the first op that needs them done, leaving open what was committed in between.
  static void wait_for(OpenProducts const& open) {
    Op& needs = first_that_needs(open);
    std::int64_t younger = 0;
    auto at = open.commit->parent()->begin();
    while (&*at != open.commit) ++at;
    for (++at; &*at != &needs; ++at) younger += at->is<ir::WgmmaCommitOp>() ? 1 : 0;
    ir::Builder builder = ir::Builder::before(needs);
    builder.set_where(open.dots.back()->where());
    Type const tile = open.product->type().as(ir::TypeKind::tile);
    std::vector<Value*> values = {open.product};
    std::vector<Type> done = {tile};
    for (Value* registers : open.registers) {  // they live until the wait
      values.push_back(registers);
      done.push_back(registers->type());
    }
    Op& wait = builder.op(ir::make_op<ir::WgmmaWaitOp>(younger), values, done);
    ir::replace(*open.dots.back(), builder.value(ir::ConvertLayoutOp{}, {wait.result(0)}, tile.with_layout(nullptr)));
    for (std::size_t i = open.dots.size() - 1; i-- > 0;) open.dots[i]->erase();
  }

  /// Makes waits name no more open groups than earlier ones of their block have left: ptxas reads each wait by itself
  /// and serialises all products if one seems to leave its result open (C7514).
  static void state_open_groups(ir::Block& block) {
    std::int64_t open = std::numeric_limits<std::int64_t>::max();
    for (Op& op : block) {
      for (int i = 0; i < op.block_count(); ++i) state_open_groups(op.block(i));
      if (op.block_count() > 0) open = std::numeric_limits<std::int64_t>::max();
      if (op.is<ir::WgmmaCommitOp>() && open != std::numeric_limits<std::int64_t>::max()) ++open;
      if (auto* const wait = op.dyn<ir::WgmmaWaitOp>()) open = wait->pending = std::min(wait->pending, open);
    }
  }

  /// Finds the value that ops hand on which change nothing but its layout, and fences.
  static Value const* handed_on(Value const* value) {
    for (;;) {
      Op const* const op = value->defining_op();
      if (op == nullptr || !(op->is<ir::ConvertLayoutOp>() || op->is<ir::WgmmaFenceOp>())) return value;
      value = op->operand(value->index());
    }
  }

  /// Tells whether a value is loop-carried, and the result of a product of the previous iteration which stays where it
  /// is: a product of this one adds to it, or several ops read it.
  static bool stays_in_place(Loop const& loop, Value const& value) {
    for (int k = 0; k < loop.count(); ++k) {
      if (handed_on(&value) != loop.carried(k)) continue;
      Op const* const wait = handed_on(loop.yielded(k))->defined_by<ir::WgmmaWaitOp>();
      if (wait == nullptr || wait->parent() != &loop.body()) return false;
      bool added_to = false;
      for (Op const& op : loop.body()) {
        if (!op.is<ir::WgmmaOp>()) continue;
        auto const accumulator = op.all<ir::WgmmaOp>("accumulator");
        added_to = added_to || (!accumulator.empty() && handed_on(accumulator[0]) == loop.carried(k));
      }
      std::set<Op const*> readers;
      collect_readers(*loop.carried(k), readers);
      return added_to || readers.size() > 1;
    }
    return false;
  }

  /// Collects the ops that read a value, also after ops that hand it on.
  static void collect_readers(Value const& value, std::set<Op const*>& readers) {
    for (ir::Use const& use : value.uses())
      if (use.user->is<ir::ConvertLayoutOp>() || use.user->is<ir::WgmmaFenceOp>())
        collect_readers(*use.user->result(use.index), readers);
      else
        readers.insert(use.user);
  }

  /// Waits ahead of the first product of an iteration where accumulators are read while products are open. Those of the
  /// previous iteration are done there, but ptxas does not see that, and puts in a wait of its own (C7517).
  static void close_before_reads(Loop const& loop) {
    Op* first = nullptr;  // fence or product
    bool open = false, read = false;
    for (Op& op : loop.body()) {
      bool const product = op.is<ir::WgmmaOp>(), fence = op.is<ir::WgmmaFenceOp>();
      if (first == nullptr && (product || fence)) first = &op;
      if (auto const* const wait = op.dyn<ir::WgmmaWaitOp>()) open = open && wait->pending > 0;
      open = open || product;
      if (!open || product || fence || op.is<ir::ConvertLayoutOp>() || op.info().has(ir::terminator)) continue;
      read = read || std::any_of(op.operands().begin(), op.operands().end(),
                                 [&](Value const* operand) { return stays_in_place(loop, *operand); });
    }
    if (!read) return;
    for (int k = 0; k < loop.count(); ++k)
      if (loop.carried(k)->type().is_pending()) return;  // its product stays open into this iteration
    ir::Builder builder = ir::Builder::before(*first);
    builder.set_where(first->where());
    builder.op(ir::make_op<ir::WgmmaWaitOp>(std::int64_t{0}), {}, {});
  }

  /// Moves the ops that only compute the next value of a product's loop-carried register operand to the loop's end.
  /// That value may be computed only when the product is done (ptxas serialises all products otherwise, C7513). Returns
  /// the first of these ops; null: there are none.
  static Op* sink_next(Value const& operand) {
    auto const carry = carry_of(operand);
    if (!carry) return nullptr;
    Op* first = nullptr;
    Value const* value = carry->loop.yielded(carry->number);
    for (Op* cast = value->defined_by<ir::CastOp>();
         cast != nullptr && cast->parent() == &carry->loop.body() && value->uses().size() == 1;
         cast = value->defined_by<ir::CastOp>()) {
      cast->move_before(first == nullptr ? carry->loop.yield() : *first);
      first = cast;
      value = cast->operand();
    }
    return first;
  }

  /// Returns columns [from, from + step) of a left operand: of `held`, which threads hold; null: of the copied tile.
  static Value* part_of_left(ir::Builder& builder, Op& dot, Value* held, std::int64_t from, std::int64_t step) {
    if (held == nullptr) return part_of(builder, *dot.lhs(), true, builder.index(from), step);
    Extents const shape = {held->type().shape()[0], step};
    Layout const* const layout = layout::part_of(*held->type().layout(), shape, {0, from});
    return builder.value(ir::make_op<ir::ExtractOp>(Extents{0, from}), {held},
                         Type::tile(held->type().element(), shape, layout));
  }

  /// Makes a product of registers, done when the next op runs; in parts along K where the operands would fill the
  /// registers.
  static void warp_by_warp(Op& dot) {
    layout::WarpGrid const grid = grid_of(dot);
    auto const& plan = dot.as<ir::DotOp>();
    Type const& d = dot.result()->type();
    std::string why;
    ir::Builder builder = ir::Builder::before(dot);
    builder.set_where(dot.where());
    Type const& left = dot.lhs()->type();
    int const size = bytes(left.element());
    auto const in_layout = [&](Value* tile, Layout const* layout) {
      return builder.value(ir::ConvertLayoutOp{}, {tile}, tile->type().with_layout(layout));
    };
    Value* sum = nullptr;
    std::int64_t const depth = left.shape()[1], step = plan.step == 0 ? depth : plan.step;
    bool const whole = step == depth;
    int const run = run_of_depth(dot, grid, step);
    Value* const held = whole || !in_registers(*dot.lhs())
                            ? nullptr
                            : in_layout(dot.lhs(), layout::mma_a_layout(left.shape(), size, grid, why, run));
    for (std::int64_t from = 0; from < depth; from += step) {
      Value* const a = whole ? dot.lhs() : part_of_left(builder, dot, held, from, step);
      Value* const b = whole ? dot.rhs() : part_of(builder, *dot.rhs(), false, builder.index(from), step);
      Value* const lhs = in_layout(a, layout::mma_a_layout(a->type().shape(), size, grid, why, run));
      Value* const rhs = in_layout(b, layout::mma_b_layout(b->type().shape(), size, grid, why, run));
      if (sum == nullptr)
        sum = laid_out(builder, dot.in<ir::DotOp>("accumulator"), layout::mma_layout(d.shape(), grid, why));
      sum = builder.value(ir::make_op<ir::MmaOp>(plan.why), {lhs, rhs, sum}, sum->type());
    }
    ir::replace(dot, builder.value(ir::ConvertLayoutOp{}, {sum}, d));
  }

  /// Returns the reason that neither wgmma nor mma takes a product, as data.
  [[nodiscard]] std::string why_lanes(Op const& dot) const {
    target::Finding const elements = why_not_tensor_cores(dot, context_.target);
    return elements.empty() ? why_not_mma(dot, function_.warps, context_.target) : elements.data();
  }

  struct PendingLoop {
    Op* loop;
    std::vector<std::pair<Op*, int>> groups;  ///< commits in order of issue, and which carry each adds to
  };

  ir::Function& function_;
  PassContext& context_;
  std::vector<Op*> dots_;
  std::vector<PendingLoop> pending_groups_;
  std::vector<OpenProducts> open_;
  std::set<Op const*> in_chain_;  ///< products that were issued with the first of their chain
};

}  // namespace

PassResult schedule_dots(ir::Function& function, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  return result_of(Schedule(function, context).run());
}

}  // namespace tegula::transform
