#include "transform/circular_buffer.hpp"

#include <algorithm>
#include <bit>

#include "ir/builder.hpp"
#include "ir/exchange.hpp"
#include "ir/rewrite.hpp"
#include "ir/shared_layouts.hpp"
#include "ir/text.hpp"
#include "ir/walk.hpp"
#include "transform/ring_lifetimes.hpp"

namespace tegula::transform {
namespace {

using ir::Block;
using ir::Op;
using ir::Type;
using ir::Value;

constexpr std::int64_t shared_limit = 232448;  // opt-in bytes per CTA on sm_90
/// Left free where the depth is chosen here: staging buffers of stores, scratch of exchanges, barriers.
constexpr std::int64_t shared_reserve = 36 * 1024;
constexpr std::int64_t most_stages_chosen = 4;

/// Fetches that fill one stage together.
struct Ring {
  std::vector<Op*> fetches;
  StageLifetime life;
  std::int64_t stages = 1;
  std::vector<Value*> buffers;
  Value* full = nullptr;
  Value* empty = nullptr;  ///< null: a stage is filled once
  [[nodiscard]] std::int64_t stage_bytes() const {
    std::int64_t sum = 0;
    for (Op const* fetch : fetches) {
      Type const& type = fetch->result()->type();
      sum += type.elements() * bytes(type.element());
    }
    return sum;
  }
};

/// The fetches of one block. They share a counter of uses.
struct Home {
  Block* block = nullptr;
  std::vector<Op*> path;  ///< ops from the kernel's body down to the block
  std::vector<Ring> rings;
  Value* use = nullptr;      ///< in the block: which use of each ring this is
  Value* use_end = nullptr;  ///< behind the loop whose body the block is: the use that would come next
  [[nodiscard]] bool repeats() const {
    return std::any_of(path.begin(), path.end(), [](Op const* op) { return op->is<ir::ForOp>(); });
  }
  [[nodiscard]] std::int64_t stages_asked() const {
    for (std::size_t i = path.size(); i-- > 0;)
      if (path[i]->is<ir::ForOp>()) return path[i]->as<ir::ForOp>().stages;
    return 1;
  }
};

std::string base_name(Op const& fetch, char const* otherwise) {
  return fetch.result()->name().empty() ? otherwise : fetch.result()->name();
}

class Rings {
 public:
  Rings(ir::Function& function, PassContext& context) : function_(function), context_(context) {}

  bool run() {
    if (!find() || homes_.empty()) return erased_;
    choose_depths();
    allocate();
    for (Home& home : homes_) {
      count_uses(home);
      for (Ring& ring : home.rings) rewrite(home, ring);
    }
    return true;
  }

 private:
  // ---- find: which fetches share a ring.

  bool find() {
    std::vector<Op*> fetches;
    ir::walk_pre_order(function_, [&](Op& op) {
      if (op.is<ir::FetchOp>()) fetches.push_back(&op);
      return ir::Walk::advance;
    });
    for (Op* fetch : fetches) {
      StageLifetime const life = stage_lifetime(*fetch);
      if (life.first_reader == nullptr && life.trouble.empty()) {  // nobody reads it
        fetch->erase();
        erased_ = true;
        continue;
      }
      if (!life.trouble.empty()) {
        context_.diagnostics.error("circular-buffer: " + life.trouble, fetch->where());
        return false;
      }
      Home* const home = home_of(*fetch);
      if (home == nullptr) return false;
      Ring* const same = joinable(*home, *fetch, life);
      if (same != nullptr)
        same->fetches.push_back(fetch);
      else
        home->rings.push_back({{fetch}, life, 1, {}, nullptr, nullptr});
    }
    return true;
  }

  Home* home_of(Op& fetch) {
    for (Home& home : homes_)
      if (home.block == fetch.parent()) return &home;
    Home home;
    home.block = fetch.parent();
    for (Op* at = fetch.parent_op(); at != nullptr; at = at->parent_op()) {
      if (!at->is<ir::ForOp>() && !at->is<ir::IfOp>()) {
        context_.diagnostics.error("circular-buffer: a fetch inside " + std::string(at->info().mnemonic) +
                                       ", through which no counter of uses can be carried",
                                   fetch.where());
        return nullptr;
      }
      home.path.insert(home.path.begin(), at);
    }
    homes_.push_back(std::move(home));
    return &homes_.back();
  }

  /// A ring that is read and given back at the same places, and that can be filled where this fetch stands.
  static Ring* joinable(Home& home, Op const& fetch, StageLifetime const& life) {
    auto const unused_yet = [&](Op const* earlier) {
      auto const& uses = earlier->result()->uses();
      return std::all_of(uses.begin(), uses.end(), [&](ir::Use const& use) {
        return stands_before(fetch, *ancestor_in(*use.user, *home.block));
      });
    };
    for (Ring& ring : home.rings)
      if (ring.life.first_reader == life.first_reader && ring.life.last == life.last &&
          ring.life.next_turn == life.next_turn && ring.life.behind == life.behind &&
          ring.life.generic == life.generic && std::all_of(ring.fetches.begin(), ring.fetches.end(), unused_yet))
        return &ring;
    return nullptr;
  }

  // ---- decide: how many stages.

  /// No loop inside the block fetches.
  [[nodiscard]] bool innermost(Home const& home) const {
    return std::none_of(homes_.begin(), homes_.end(), [&](Home const& other) {
      return other.path.size() > home.path.size() &&
             std::any_of(other.path.begin(), other.path.end(),
                         [&](Op const* op) { return op->parent() == home.block && op->is<ir::ForOp>(); });
    });
  }

  void choose_depths() {
    std::vector<Ring*> open;
    std::int64_t total = shared_reserve;
    for (Home& home : homes_)
      for (Ring& ring : home.rings) {
        std::int64_t const asked = home.stages_asked();
        ring.stages = std::max<std::int64_t>(asked, 1);
        if (home.repeats() && asked == 0 && innermost(home)) open.push_back(&ring);
        total += ring.stages * ring.stage_bytes();
      }
    for (std::int64_t depth = 2; depth <= most_stages_chosen; ++depth)
      for (Ring* ring : open) {
        if (total + ring->stage_bytes() > shared_limit) continue;
        total += ring->stage_bytes();
        ring->stages = std::max(ring->stages, depth);
      }
  }

  // ---- rewrite: buffers and barriers before everything that has an effect.

  void allocate() {
    Op* first = nullptr;
    for (Op& op : function_.body()) {
      first = &op;
      if (!op.pure() && !op.info().has(ir::launch_fact) && !op.is<ir::SharedAllocOp>()) break;
    }
    ir::Builder builder = ir::Builder::before(*first);
    for (Home& home : homes_)
      for (Ring& ring : home.rings) {
        for (Op const* fetch : ring.fetches) ring.buffers.push_back(buffer(builder, *fetch, ring.stages));
        std::string const name = base_name(*ring.fetches.front(), "ring");
        ring.full = barriers(builder, ring.stages, "full_" + name);
        if (home.repeats()) ring.empty = barriers(builder, ring.stages, "empty_" + name);
      }
    Op& elect = builder.op(ir::ElectOp{}, {}, {});
    ir::Builder inside(elect.add_block());
    std::vector<Value*> maps;
    for (Home& home : homes_)
      for (Ring& ring : home.rings)
        for (Op const* fetch : ring.fetches)
          if (std::find(maps.begin(), maps.end(), fetch->operand(0)) == maps.end()) maps.push_back(fetch->operand(0));
    for (Value* map : maps) inside.op(ir::PrefetchTensorMapOp{}, {map}, {});
    for (Home& home : homes_)
      for (Ring& ring : home.rings) {
        inside.op(ir::MbarrierInitOp{}, {ring.full}, {});
        if (ring.empty != nullptr)
          inside.op(ir::make_op<ir::MbarrierInitOp>(std::int64_t{function_.warps}), {ring.empty}, {});
      }
    inside.op(ir::FenceMbarrierInitOp{}, {}, {});
    inside.op(ir::YieldOp{}, {}, {});
    builder.op(ir::BarrierOp{}, {}, {});
  }

  static Value* buffer(ir::Builder& builder, Op const& fetch, std::int64_t stages) {
    Type const& tile = fetch.result()->type();
    Extents shape = tile.shape();
    shape.insert(0, stages);
    int const size = bytes(tile.element());
    auto const form = ir::shared_form(*tile.layout(), size);
    int const swizzle = form ? form->swizzle_bytes : 0;
    std::string why;
    ir::Layout const* const layout =
        swizzle == 0 ? ir::dense_layout(shape) : ir::swizzled_layout(shape, size, swizzle, why);
    Value* const made = builder.value(ir::make_op<ir::SharedAllocOp>(ir::swizzle_alignment(swizzle)), {},
                                      Type::shared(tile.element(), shape, layout));
    made->set_name("ring_" + base_name(fetch, "tile"));
    return made;
  }

  static Value* barriers(ir::Builder& builder, std::int64_t stages, std::string name) {
    Value* const made = builder.value(ir::make_op<ir::SharedAllocOp>(std::int64_t{8}), {}, Type::mbarrier({stages}));
    made->set_name(std::move(name));
    return made;
  }

  // ---- rewrite: the counter of uses.

  void count_uses(Home& home) {
    if (!home.repeats()) {
      home.use = ir::Builder::before(*home.rings.front().fetches.front()).index(0);
      return;
    }
    Value* const zero = ir::Builder::before(*home.path.front()).index(0);
    (void)carry(home, 0, zero);
  }

  /// Hands the counter through the op at this depth of the path; returns it as it is behind that op.
  Value* carry(Home& home, std::size_t depth, Value* use) {
    if (depth == home.path.size()) {
      home.use = use;
      ir::Builder builder = ir::Builder::before(home.block->back());
      return builder.same(ir::AddOp{}, {use, builder.index(1)});
    }
    Op& op = *home.path[depth];
    Block* const inner = depth + 1 < home.path.size() ? home.path[depth + 1]->parent() : home.block;
    Value* const result = op.add_result(Type::index());
    if (op.is<ir::IfOp>()) {
      Value* const next = carry(home, depth + 1, use);
      for (int b = 0; b < op.block_count(); ++b) op.block(b).back().add_operand(&op.block(b) == inner ? next : use);
      return result;
    }
    op.add_operand(use);
    Value* const argument = inner->add_argument(Type::index(), "use");
    if (depth + 1 == home.path.size()) home.use_end = result;
    inner->back().add_operand(carry(home, depth + 1, argument));
    return result;
  }

  /// use mod stages and use div stages.
  struct Slot {
    Value* stage;
    Value* turn;
  };
  static Slot slot(ir::Builder& builder, Value* use, std::int64_t stages) {
    if (stages == 1) return {builder.index(0), use};
    if (!std::has_single_bit(static_cast<std::uint64_t>(stages))) {
      Value* const count = builder.index(stages);
      return {builder.same(ir::RemOp{}, {use, count}), builder.same(ir::DivOp{}, {use, count})};
    }
    return {builder.same(ir::AndOp{}, {use, builder.index(stages - 1)}),
            builder.same(ir::ShrOp{}, {use, builder.index(std::countr_zero(static_cast<std::uint64_t>(stages)))})};
  }
  static Value* barrier_of(ir::Builder& builder, Value* barriers, Value* stage) {
    return builder.value(ir::ViewOp{}, {barriers, stage}, Type::mbarrier());
  }

  // ---- rewrite: filling, waiting, giving back.

  void rewrite(Home& home, Ring& ring) {
    Op& last_fetch = *ring.fetches.back();
    ir::Builder builder = ir::Builder::before(last_fetch);
    builder.set_where(last_fetch.where());
    Slot const at = slot(builder, home.use, ring.stages);
    Value* const full = barrier_of(builder, ring.full, at.stage);
    std::vector<Value*> stages;
    for (std::size_t i = 0; i < ring.fetches.size(); ++i) {
      Type const& type = ring.fetches[i]->result()->type();
      std::vector<Value*> offsets = {ring.buffers[i], at.stage};
      for (int axis = 0; axis < type.rank(); ++axis) offsets.push_back(builder.index(0));
      stages.push_back(builder.op(ir::ViewOp{}, offsets, {type}).result());
    }
    fill(builder, ring, at, full, stages);
    give_back(home, ring);
    Op& waits = before_fences(*ring.life.first_reader, last_fetch);
    ir::Builder reader = ir::Builder::before(waits);
    reader.set_where(waits.where());
    reader.op(ir::MbarrierWaitOp{}, {full, at.turn}, {});
    for (std::size_t i = 0; i < ring.fetches.size(); ++i) ir::replace(*ring.fetches[i], stages[i]);
  }

  /// The first of the wgmma fences that stand right before a reader: a wait between fence and product makes ptxas
  /// serialise the products (C7519).
  static Op& before_fences(Op& reader, Op const& fetch) {
    Op* result = &reader;
    for (auto at = reader.parent()->begin(); &*at != &reader; ++at) {
      if (!at->is<ir::WgmmaFenceOp>() || !stands_before(fetch, *at))
        result = &reader;
      else if (result == &reader)
        result = &*at;
    }
    return *result;
  }

  static void fill(ir::Builder& builder, Ring const& ring, Slot const& at, Value* full,
                   std::vector<Value*> const& stages) {
    Op& elect = builder.op(ir::make_op<ir::ElectOp>(std::int64_t{0}, ir::Role::producer), {}, {});
    ir::Builder inside(elect.add_block());
    inside.set_where(elect.where());
    if (ring.empty != nullptr) {
      Value* const empty = barrier_of(inside, ring.empty, at.stage);
      inside.op(ir::MbarrierWaitOp{}, {empty, inside.same(ir::XorOp{}, {at.turn, inside.index(1)})}, {});
    }
    inside.op(ir::make_op<ir::MbarrierExpectOp>(ring.stage_bytes()), {full}, {});
    for (std::size_t i = 0; i < ring.fetches.size(); ++i) {
      Op const& fetch = *ring.fetches[i];
      std::vector<Value*> operands = {fetch.operand(0), stages[i], full};
      operands.insert(operands.end(), fetch.operands().begin() + 1, fetch.operands().end());
      inside.op(ir::TmaLoadOp{}, operands, {});
    }
    inside.op(ir::YieldOp{}, {}, {});
  }

  /// One arrive per warp at the stage's empty barrier, where the last reader has ended.
  void give_back(Home const& home, Ring const& ring) {
    if (ring.empty == nullptr) return;
    ir::Builder builder = ir::Builder::after(*ring.life.last);
    builder.set_where(ring.life.last->where());
    if (!ring.life.next_turn) return arrive(builder, ring, home.use, nullptr);
    Op const& loop = *home.path.back();
    Value* const not_first = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::ne),
                                           {home.block->argument(0), loop.operand(0)}, Type::scalar(Element::boolean));
    arrive(builder, ring, builder.same(ir::SubOp{}, {home.use, builder.index(1)}), not_first);
    // Behind the outermost loop nobody fills the ring again.
    bool const again =
        std::any_of(home.path.begin(), home.path.end() - 1, [](Op const* op) { return op->is<ir::ForOp>(); });
    if (!again) return;
    ir::Builder behind = ir::Builder::after(*ring.life.behind);
    behind.set_where(ring.life.behind->where());
    Value* const some = behind.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {loop.operand(0), loop.operand(1)},
                                     Type::scalar(Element::boolean));
    arrive(behind, ring, behind.same(ir::SubOp{}, {home.use_end, behind.index(1)}), some);
  }

  static void arrive(ir::Builder& builder, Ring const& ring, Value* use, Value* condition) {
    if (ring.life.generic) {
      // PTX: an ordinary read before an asynchronous write needs a proxy fence by the reading thread; the warp's
      // arrive speaks for all of its lanes once they have met.
      builder.op(ir::FenceProxyAsyncOp{}, {}, {});
      builder.op(ir::WarpBarrierOp{}, {}, {});
    }
    Op& elect = builder.op(ir::make_op<ir::ElectOp>(std::int64_t{-1}), {}, {});
    ir::Builder inside(elect.add_block());
    inside.set_where(elect.where());
    if (condition != nullptr) {
      Op& branch = inside.op(ir::IfOp{}, {condition}, {});
      inside.op(ir::YieldOp{}, {}, {});
      inside = ir::Builder(branch.add_block());
      ir::Builder(branch.add_block()).op(ir::YieldOp{}, {}, {});
      inside.set_where(elect.where());
    }
    Slot const at = slot(inside, use, ring.stages);
    inside.op(ir::MbarrierArriveOp{}, {barrier_of(inside, ring.empty, at.stage)}, {});
    inside.op(ir::YieldOp{}, {}, {});
  }

  ir::Function& function_;
  PassContext& context_;
  std::vector<Home> homes_;
  bool erased_ = false;
};

}  // namespace

PassResult circular_buffer(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  return result_of(Rings(function, context).run());
}

}  // namespace tegula::transform
