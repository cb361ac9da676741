#include "transform/laid_out/split_products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <unordered_set>
#include <vector>

#include "analysis/carried_sums.hpp"
#include "analysis/effects.hpp"
#include "analysis/launch_cost.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "ir/values/constant_of.hpp"
#include "layout/layout.hpp"
#include "transform/common/grid_extents.hpp"
#include "transform/common/loop_regions.hpp"
#include "transform/common/ring_lifetimes.hpp"
#include "transform/laid_out/column_shares.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;
using layout::Dim;
using layout::Layout;
using layout::LayoutInput;

constexpr std::int64_t part_alignment = 128;
constexpr std::size_t bits_of_access = 2;  ///< registers of 4 bytes in 16

/// Returns the operand that a fence of products, or a wait for them, passes on under this name; the value itself if
/// there is none.
template <class PassesOn>
Value const& passed_on(Value const& value) {
  Op const* const op = value.defined_by<PassesOn>();
  return op == nullptr ? value : *op->in<PassesOn>("values", value.index());
}

/// Returns the layout of a part in memory. It follows the order in which threads hold the part: each lane's accesses
/// have 16 bytes, beside those of the next lane. With `slots` above 0 a leading axis counts that many parts.
Layout const* part_layout(Layout const& tile, std::int64_t slots) {
  auto const placed = [&](Extents const& vector) {
    Extents result = vector;
    if (slots > 0) result.insert(0, 0);
    return result;
  };
  LayoutInput offset{Dim::offset, {}, {}};
  auto const moves = [](Extents const& vector) {
    return std::any_of(vector.begin(), vector.end(), [](std::int64_t by) { return by != 0; });
  };
  std::vector<Extents> registers;
  for (Extents const& base : tile.input(Dim::reg).bases)
    if (moves(base)) registers.push_back(base);
  std::size_t const first = std::min(bits_of_access, registers.size());
  for (std::size_t i = 0; i < first; ++i) offset.bases.push_back(placed(registers[i]));
  for (Dim const dim : {Dim::lane, Dim::warp})
    for (Extents const& base : tile.input(dim).bases)
      if (moves(base)) offset.bases.push_back(placed(base));
  for (std::size_t i = first; i < registers.size(); ++i) offset.bases.push_back(placed(registers[i]));
  for (Dim const dim : {Dim::lane, Dim::warp, Dim::reg})
    for (layout::LayoutDigit const& digit : tile.input(dim).digits)
      if (moves(digit.stride)) offset.digits.push_back({digit.count, placed(digit.stride)});
  if (slots > 1) {
    Extents stride;
    for (int axis = 0; axis <= tile.rank(); ++axis) stride.push_back(axis == 0 ? 1 : 0);
    offset.digits.push_back({slots, stride});
  }
  return Layout::get({offset}, tile.rank() + (slots > 0 ? 1 : 0));
}

class Split {
 public:
  Split(ir::Function& function, std::int64_t ctas) : function_(function), ctas_(ctas) {}

  /// Explains why one CTA goes on making a tile by itself; empty: all parts were found.
  std::string find() {
    std::unordered_set<Op*> homes;
    ir::walk(function_, [&](Op& op) {
      if (ir::is_tensor_core_product(op)) homes.insert(op.parent_op());
    });
    if (homes.empty()) return "it does not have a product";
    loop_ = *homes.begin();
    if (homes.size() != 1 || loop_ == nullptr || !loop_->is<ir::ForOp>()) return "its products are in several blocks";
    for (Op const* at = loop_->parent_op(); at != nullptr; at = at->parent_op())
      if (!at->is<ir::ForOp>()) return "the product's loop is inside " + std::string(at->info().mnemonic);
    if (!find_sums())
      return "its loop carries a value that is neither an accumulator nor a sum with the initial value 0";
    // A warp that only holds copies sends nothing, so the CTA that adds the parts would not wait for it.
    for (Value const* sum : sums_)
      if (sum->type().layout()->free_bits(layout::Dim::warp) != 0) return "several warps hold copies of its sum";
    if (std::string error = find_tail(); !error.empty()) return error;
    std::int64_t bytes = 0;
    for (Value const* sum : sums_) bytes += part_bytes(*sum);
    std::int64_t const others = bytes * (ctas_ - 1);
    if (others <= analysis::max_part_bytes) return {};  // one CTA adds them; the others go on with their next tiles
    auto const too_many = [&](std::int64_t count) {
      return fmt::format("the parts of {} CTAs have {} bytes, above {}", ctas_ - 1, count, analysis::max_part_bytes);
    };
    if (others / ctas_ > analysis::max_part_bytes) return too_many(others / ctas_) + ", shared by columns";
    shares_.emplace(sums_, tail_, ctas_);
    std::string const whole = shares_->find();
    return whole.empty() ? "" : too_many(others) + ", and " + whole;
  }

  void rewrite() {
    function_.cluster = static_cast<int>(ctas_);
    count_clusters();
    begin();
    share_loop();
    Value* const uses = meet();
    end(uses);
  }

 private:
  // ---- find

  /// Returns the type of what one CTA hands to another.
  [[nodiscard]] Type const& part_of(Value const& sum) const { return shares_ ? shares_->share_of(sum) : sum.type(); }
  static std::int64_t part_bytes(Value const& sum) { return sum.type().elements() * bytes(sum.type().element()); }

  /// Finds the loop-carried sums, as values after the loop.
  bool find_sums() {
    done_ = loop_;
    ir::Loop const loop(*loop_);
    if (loop.count() == 0) return false;
    for (int k = 0; k < loop.count(); ++k) {
      Value const& sum = *loop.carried(k);
      if (bytes(sum.type().element()) == 4 && analysis::adds_products(loop, k)) {
        sums_.push_back(loop.result(k));
        continue;
      }
      Value const& yielded = passed_on<ir::WgmmaWaitOp>(*loop.yielded(k));
      Op const* product = yielded.defining_op();
      bool const buffer = product != nullptr && ir::is_tensor_core_product(*product) && product->operand_count() == 3 &&
                          product->result()->uses().size() == 1;
      if (!buffer || sum.uses().size() != 1 || bytes(sum.type().element()) != 4 ||
          !is_zero(passed_on<ir::WgmmaFenceOp>(*loop.init(k))))
        return false;
      if (&passed_on<ir::WgmmaFenceOp>(*product->in("accumulator")) != &sum) return false;
      Value* const result = loop.result(k);
      if (result->type().is_tile()) {
        sums_.push_back(result);
        continue;
      }
      auto const& uses = result->uses();
      Op* const wait = uses.size() == 1 ? uses[0].user : nullptr;
      if (wait == nullptr || !wait->is<ir::WgmmaWaitOp>() || wait->parent() != loop_->parent() ||
          (k > 0 && wait != done_))
        return false;
      done_ = wait;
      sums_.push_back(wait->result(uses[0].index));
    }
    return true;
  }

  /// Finds the ops after the loop in its block, which the first CTA runs alone.
  std::string find_tail() {
    std::unordered_set<Op const*> tail;
    bool after = false;
    for (Op& op : *loop_->parent()) {
      bool const shared = op.info().has(ir::terminator) || op.is(ir::Family::launch) || op.is<ir::TensorMapOp>() ||
                          op.is<ir::BufferAllocOp>();
      if (after && !shared) {
        tail_.push_back(&op);
        tail.insert(&op);
      } else if (after && !op.info().has(ir::terminator) && !op.is(ir::Family::launch)) {
        before_.push_back(&op);
      }
      after = after || &op == done_;
    }
    auto const in_tail = [&](Op& op) {
      Op const* const at = ancestor_in(op, *loop_->parent());
      return at != nullptr && tail.count(at) != 0;
    };
    auto const stays_inside = [&](Value const& value) {
      auto const& uses = value.uses();
      return std::all_of(uses.begin(), uses.end(), [&](ir::Use const& use) { return in_tail(*use.user); });
    };
    for (Value const* sum : sums_)
      if (!stays_inside(*sum)) return "a value carried past its loop depends on the sum";
    std::string error;
    ir::walk(function_, [&](Op& op) {
      if (in_tail(op)) return;
      if (analysis::runs_once(op) || op.is<ir::CallOp>())
        error = std::string(op.info().mnemonic) + " runs in all CTAs of a cluster";
      for (Value const* operand : op.operands())
        if (operand->defining_op() != nullptr && in_tail(*operand->defining_op()))
          error = "a value computed after its loop is used elsewhere";
    });
    return error;
  }

  // ---- rewrite

  /// Turns blocks into clusters: `split` CTAs each along the first axis. A kernel that asked for one axis counts over
  /// all that a launch may state, as its CTAs may be any number.
  void count_clusters() {
    std::vector<Op*> ops;
    ir::walk(function_, [&](Op& op) { ops.push_back(&op); });
    Op* grid = nullptr;
    for (Op* op : ops) grid = op->is<ir::GridOp>() ? op : grid;
    bool const flat = grid == nullptr || grid->operand_count() == 1;
    ir::Builder builder = ir::Builder::before(first_of_body());
    Value* const ctas = builder.index(ctas_);
    auto const index = [&](std::int64_t axis) {
      return builder.op(ir::make_op<ir::BlockIndexOp>(axis), {}, {Type::index()}).result();
    };
    auto const extent = [&](std::int64_t axis) {
      return builder.op(ir::make_op<ir::GridExtentOp>(axis), {}, {Type::index()}).result();
    };
    Value *cta = index(flat ? 2 : 0), *all = extent(flat ? 2 : 0);
    for (std::int64_t axis = flat ? 1 : -1; axis >= 0; --axis) {
      Value* const along = extent(axis);
      cta = builder.same(ir::AddOp{}, {builder.same(ir::MulOp{}, {cta, along}), index(axis)});
      all = builder.same(ir::MulOp{}, {all, along});
    }
    Value* const cluster = builder.same(ir::DivOp{}, {cta, ctas});
    Value* const clusters = builder.same(ir::DivOp{}, {all, ctas});
    Value *const zero = builder.index(0), *const one = builder.index(1);
    for (Op* op : ops) {
      if (op->is<ir::MultiprocessorsOp>()) {
        ir::replace_uses(*op->result(), [&] {
          ir::Builder after = ir::Builder::after(*op);
          return after.same(ir::MaxOp{}, {after.same(ir::DivOp{}, {op->result(), after.index(ctas_)}), after.index(1)});
        });
      } else if (op->is<ir::BlockIndexOp>() || op->is<ir::GridExtentOp>()) {
        bool const is_index = op->is<ir::BlockIndexOp>();
        std::int64_t const axis = is_index ? op->as<ir::BlockIndexOp>().axis : op->as<ir::GridExtentOp>().axis;
        if (axis == 0)
          ir::replace(*op, is_index ? cluster : clusters);
        else if (flat)
          ir::replace(*op, is_index ? zero : one);
      }
    }
    if (grid != nullptr) multiply_blocks(*grid, ctas_);
  }

  /// Finds the first op after the tensor maps.
  Op& first_of_body() {
    for (Op& op : function_.body())
      if (!op.is<ir::TensorMapOp>()) return op;
    return function_.body().back();
  }

  /// Finds the first effect or the loop: a loop whose operands are constants has no effect, and may stand ahead of the
  /// first one.
  Op& first_effect_or_loop() {
    Op* around = loop_;
    while (around->parent_op() != nullptr) around = around->parent_op();
    Op& first = first_effect(function_);
    for (Op& op : function_.body())
      if (&op == around || &op == &first) return op;
    return first;
  }

  /// Allocates memory and mbarriers; CTAs of the cluster meet, as none may write to one that has not begun.
  void begin() {
    ir::Builder builder = ir::Builder::before(first_effect_or_loop());
    builder.set_where(loop_->where());
    rank_ = builder.op(ir::ClusterRankOp{}, {}, {Type::index()}).result();
    rank_->set_name("rank");
    first_ = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::eq), {rank_, builder.index(0)},
                           Type::scalar(Element::boolean));
    for (Value const* sum : sums_) {
      Type const& part = part_of(*sum);
      Extents shape = part.shape();
      shape.insert(0, ctas_ - 1);
      Value* const buffer = builder.value(ir::make_op<ir::BufferAllocOp>(part_alignment), {},
                                          Type::shared(part.element(), shape, part_layout(*part.layout(), ctas_ - 1)));
      buffer->set_name("parts");
      parts_.push_back(buffer);
    }
    auto const barrier = [&](char const* name) {
      Value* const buffer = builder.value(ir::make_op<ir::BufferAllocOp>(std::int64_t{8}), {}, Type::mbarrier({}));
      buffer->set_name(name);
      return buffer;
    };
    full_ = barrier("full_parts");
    empty_ = barrier("empty_parts");
    elected(builder, ir::LoopRegion::pre_prologue, [&](ir::Builder& inside) {
      inside.op(ir::MbarrierInitOp{}, {full_}, {});
      std::int64_t const readers = shares_ ? ctas_ : 1;
      inside.op(ir::make_op<ir::MbarrierInitOp>(readers * function_.warps), {empty_}, {});
      inside.op(ir::FenceMbarrierInitOp{}, {}, {});
    });
    builder.op(ir::make_op<ir::ClusterArriveOp>(true), {}, {});
    builder.op(ir::ClusterWaitOp{}, {}, {});
  }

  /// Runs the loop from trips * rank / S on, to trips * (rank + 1) / S.
  void share_loop() {
    ir::Builder builder = ir::Builder::before(*loop_);
    builder.set_where(loop_->where());
    ir::Loop const loop(*loop_);
    Value *const lower = loop.lower(), *const upper = loop.upper(), *const step = loop.step();
    Value* const length = builder.same(ir::MaxOp{}, {builder.same(ir::SubOp{}, {upper, lower}), builder.index(0)});
    Value* const trips = builder.same(ir::CeilDivOp{}, {length, step});
    auto const bound = [&](Value* rank) {
      Value* const turns = builder.same(ir::DivOp{}, {builder.same(ir::MulOp{}, {trips, rank}), builder.index(ctas_)});
      return builder.same(ir::AddOp{}, {lower, builder.same(ir::MulOp{}, {turns, step})});
    };
    Value* const from = bound(rank_);
    Value* const to = bound(builder.same(ir::AddOp{}, {rank_, builder.index(1)}));
    loop_->set_operand(loop_->position<ir::ForOp>("lower"), from);
    loop_->set_operand(loop_->position<ir::ForOp>("upper"), to);
  }

  /// Counts how often parts were handed over, through all loops around; `inside` is told the number in the innermost
  /// one. Returns the number at the end of the kernel.
  template <class Inside>
  Value* count_uses(Inside const& inside) {
    std::vector<ir::Loop> loops;  // innermost first
    for (Op* at = loop_->parent_op(); at != nullptr; at = at->parent_op()) loops.emplace_back(*at);
    Op& outermost = loops.empty() ? *loop_ : loops.back().op();
    Value* use = ir::Builder::before(outermost).index(0);
    for (auto at = loops.rbegin(); at != loops.rend(); ++at) use = at->add_carry(use, "handed");
    Op& last = inside(use);
    ir::Builder builder = ir::Builder::after(last);
    Value* next = builder.same(ir::AddOp{}, {use, builder.index(1)});
    for (ir::Loop const& loop : loops) {
      loop.yield().add_operand(next);
      next = loop.result(loop.count() - 1);
    }
    return next;
  }

  Value* meet() {
    for (Op* op : before_) op->move_before(*loop_);
    return count_uses([&](Value* use) -> Op& {
      ir::Builder builder = ir::Builder::after(*done_);
      builder.set_where(loop_->where());
      if (shares_) return exchange(builder, use);
      Op& branch = builder.op(ir::IfOp{}, {first_}, {});
      ir::Builder first(branch.add_block()), other(branch.add_block());
      first.set_where(loop_->where());
      other.set_where(loop_->where());
      take(first, use);
      hand_over(other, use);
      return branch;
    });
  }

  Value* slot(ir::Builder& builder, std::size_t i, Value* number) {
    Type const& tile = part_of(*sums_[i]);
    std::vector<Value*> operands = {parts_[i], number};
    for (int axis = 0; axis < tile.rank(); ++axis) operands.push_back(builder.index(0));
    return builder
        .op(ir::ViewOp{}, operands, {Type::shared(tile.element(), tile.shape(), part_layout(*tile.layout(), 0))})
        .result();
  }

  /// Hands each other CTA its share of the columns, and goes on with this CTA's. Returns the last op.
  Op& exchange(ir::Builder& builder, Value* use) {
    builder.op(ir::make_op<ir::MbarrierWaitOp>(ir::MemoryScope::cluster),
               {empty_, builder.same(ir::XorOp{}, {use, builder.index(1)})}, {});
    std::int64_t bytes = 0;
    std::vector<Value*> totals;
    for (std::size_t i = 0; i < sums_.size(); ++i) {
      bytes += part_bytes(*sums_[i]) / ctas_ * (ctas_ - 1);
      totals.push_back(hand_shares(builder, i));
    }
    await_parts(builder, use, bytes);
    for (std::size_t i = 0; i < sums_.size(); ++i) totals[i] = add_parts(builder, i, totals[i]);
    Op& last = release(builder, 0);
    shares_->rewrite(totals, *rank_);
    return last;
  }

  /// Hands each other CTA its share of a sum. Returns this CTA's own share, which stays in registers.
  Value* hand_shares(ir::Builder& builder, std::size_t i) {
    Type const& share = part_of(*sums_[i]);
    auto const columns_of = [&](ir::Builder& at, std::int64_t peer) {
      ir::ExtractOp columns;
      for (int axis = 0; axis < share.rank(); ++axis)
        columns.offsets.push_back(axis + 1 == share.rank() ? peer * share.shape()[axis] : 0);
      return at.value(columns, {sums_[i]}, share);
    };
    Value* own = columns_of(builder, 0);
    for (std::int64_t peer = 0; peer < ctas_; ++peer) {
      Value* const number = builder.index(peer);
      Value* const is_own =
          builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::eq), {rank_, number}, Type::scalar(Element::boolean));
      Op& branch = builder.op(ir::IfOp{}, {is_own}, {share});
      ir::Builder mine(branch.add_block()), other(branch.add_block());
      mine.set_where(loop_->where());
      other.set_where(loop_->where());
      mine.op(ir::YieldOp{}, {peer == 0 ? own : columns_of(mine, peer)}, {});
      // The slots of a CTA are those of the other ranks, in their order.
      Value* const above =
          other.value(ir::make_op<ir::CompareOp>(ir::Predicate::gt), {rank_, number}, Type::scalar(Element::boolean));
      Value* const before = other.same(ir::SubOp{}, {rank_, other.index(1)});
      Value* const place = other.value(ir::SelectOp{}, {above, before, rank_}, Type::index());
      other.op(ir::PeerStoreOp{}, {slot(other, i, place), columns_of(other, peer), full_, number}, {});
      other.op(ir::YieldOp{}, {own}, {});
      own = branch.result();
    }
    return own;
  }

  /// Adds the parts of the other CTAs to a sum, in the order of their ranks.
  Value* add_parts(ir::Builder& builder, std::size_t i, Value* total) {
    for (std::int64_t other = 0; other + 1 < ctas_; ++other) {
      Value* const part = builder.value(ir::BufferLoadOp{}, {slot(builder, i, builder.index(other))}, total->type());
      total = builder.same(ir::AddOp{}, {total, part});
    }
    return total;
  }

  /// Waits until all parts are here.
  void await_parts(ir::Builder& builder, Value* use, std::int64_t bytes) {
    elected(builder, ir::LoopRegion::none,
            [&](ir::Builder& lane) { lane.op(ir::make_op<ir::MbarrierExpectOp>(bytes), {full_}, {}); });
    builder.op(ir::make_op<ir::MbarrierWaitOp>(ir::MemoryScope::cluster), {full_, use}, {});
  }

  /// Says to the CTAs from `first` on that their slots are free again.
  Op& release(ir::Builder& builder, std::int64_t first) {
    // The arrive of one lane releases the reads of all lanes.
    builder.op(ir::WarpBarrierOp{}, {}, {});
    Op& elect = builder.op(ir::make_op<ir::ElectOp>(std::int64_t{-1}), {}, {});
    ir::Builder lane(elect.add_block());
    for (std::int64_t peer = first; peer < ctas_; ++peer)
      lane.op(ir::MbarrierArriveOp{}, {empty_, lane.index(peer)}, {});
    lane.op(ir::YieldOp{}, {}, {});
    return elect;
  }

  void take(ir::Builder& builder, Value* use) {
    std::int64_t bytes = 0;
    for (Value const* sum : sums_) bytes += part_bytes(*sum) * (ctas_ - 1);
    await_parts(builder, use, bytes);
    std::vector<Value*> totals;
    for (std::size_t i = 0; i < sums_.size(); ++i) totals.push_back(add_parts(builder, i, sums_[i]));
    release(builder, 1);
    Op& yield = builder.op(ir::YieldOp{}, {}, {});
    for (Op* op : tail_) op->move_before(yield);
    for (Op* op : tail_) {
      use_totals(*op, totals);
      for (int b = 0; b < op->block_count(); ++b) ir::walk(op->block(b), [&](Op& inner) { use_totals(inner, totals); });
    }
  }

  void use_totals(Op& op, std::vector<Value*> const& totals) {
    for (int i = 0; i < op.operand_count(); ++i)
      for (std::size_t s = 0; s < sums_.size(); ++s)
        if (op.operand(i) == sums_[s]) op.set_operand(i, totals[s]);
  }

  void hand_over(ir::Builder& builder, Value* use) {
    builder.op(ir::make_op<ir::MbarrierWaitOp>(ir::MemoryScope::cluster),
               {empty_, builder.same(ir::XorOp{}, {use, builder.index(1)})}, {});
    Value* const number = builder.same(ir::SubOp{}, {rank_, builder.index(1)});
    Value* const first = builder.index(0);
    for (std::size_t i = 0; i < sums_.size(); ++i)
      builder.op(ir::PeerStoreOp{}, {slot(builder, i, number), sums_[i], full_, first}, {});
    builder.op(ir::YieldOp{}, {}, {});
  }

  /// Keeps a CTA until those that take its parts have read the last one, and arrived here to say so.
  void end(Value* uses) {
    ir::Builder builder = ir::Builder::before(function_.body().back());
    builder.set_where(loop_->where());
    if (shares_) {
      builder.op(ir::make_op<ir::MbarrierWaitOp>(ir::MemoryScope::cluster),
                 {empty_, builder.same(ir::XorOp{}, {uses, builder.index(1)})}, {});
      return;
    }
    Op& branch = builder.op(ir::IfOp{}, {first_}, {});
    ir::Builder(branch.add_block()).op(ir::YieldOp{}, {}, {});
    ir::Builder other(branch.add_block());
    other.set_where(loop_->where());
    other.op(ir::make_op<ir::MbarrierWaitOp>(ir::MemoryScope::cluster),
             {empty_, other.same(ir::XorOp{}, {uses, other.index(1)})}, {});
    other.op(ir::YieldOp{}, {}, {});
  }

  ir::Function& function_;
  std::int64_t ctas_;
  Op* loop_ = nullptr;
  Op* done_ = nullptr;                  ///< after it the sums are tiles
  std::vector<Value*> sums_;            ///< after the loop
  std::vector<Op*> tail_;               ///< the ops after the loop: for the first CTA alone, or for shares
  std::vector<Op*> before_;             ///< ops that must stand in the kernel's body
  std::optional<ColumnShares> shares_;  ///< of the columns, if each CTA goes on with its own
  Value* rank_ = nullptr;
  Value* first_ = nullptr;
  std::vector<Value*> parts_;  ///< per sum: a slot for each other rank
  Value* full_ = nullptr;      ///< counts the bytes of all parts
  Value* empty_ = nullptr;     ///< the warps of each CTA that takes this one's parts arrive
};

}  // namespace

PassResult split_products(ir::Function& function, PassContext& context) {
  int const ctas = context.options.split;
  if (!function.is_kernel() || ctas < 2 || function.cluster != 1) return PassResult::unchanged;
  if (!context.target.has(Ability::clusters)) {
    context.diagnostics.remark(fmt::format("split-products: @{} is not split: {} has no clusters", function.name(),
                                           context.target.architecture),
                               function.where);
    return PassResult::unchanged;
  }
  Split split(function, ctas);
  if (std::string const error = split.find(); !error.empty()) {
    context.diagnostics.remark("split-products: @" + function.name() + " is not split: " + error, function.where);
    return PassResult::unchanged;
  }
  split.rewrite();
  return PassResult::changed;
}

}  // namespace tegula::transform
