#include "transform/persistent_grid.hpp"

#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "ir/builder.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"
#include "transform/loop_regions.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

constexpr std::int64_t rows_per_group = 8;
/// CTAs of a kernel without loops that share a multiprocessor: one computes where the other's threads meet.
constexpr std::int64_t row_ctas = 2;
/// Rows on their way to each of them.
constexpr std::int64_t row_stages = 4;
/// What a CTA may keep of tensors that all of them read: 16 registers of 512 threads.
constexpr std::int64_t most_kept_bytes = 32 * 1024;

bool product_in_loop(ir::Function& function) {
  bool found = false;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::DotOp>())
      for (Op const* at = op.parent_op(); at != nullptr; at = at->parent_op()) found = found || at->is<ir::ForOp>();
  });
  return found;
}

/// The axes of the grid that a value follows from.
void collect_axes(Value const& value, std::set<std::int64_t>& axes, std::set<Value const*>& seen) {
  Op const* const op = value.defining_op();
  if (op == nullptr || !seen.insert(&value).second) return;
  if (op->is<ir::BlockIndexOp>()) axes.insert(op->as<ir::BlockIndexOp>().axis);
  for (Value const* operand : op->operands()) collect_axes(*operand, axes, seen);
}

bool on_grid(Op const& load) {
  std::set<std::int64_t> axes;
  std::set<Value const*> seen;
  for (Value const* offset : load.operands().subspan(1)) collect_axes(*offset, axes, seen);
  return !axes.empty();
}

/// Whether every CTA would read again what the ones before it read: tiles that do not depend on its place, at least
/// half as large together as those that do. A CTA that stays keeps them in registers.
bool reads_again(ir::Function& function) {
  std::int64_t kept = 0, own = 0;
  if (holds_a_loop(function.body())) return false;
  bool calls = false;  // that are to stay
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::CallOp>()) {
      ir::Function const* const callee = function.parent()->find(op.as<ir::CallOp>().callee.view());
      calls = calls || (callee != nullptr && callee->inlining == ir::Inline::no);
    }
    if (!op.is<ir::LoadOp>()) return;
    ir::Type const& tile = op.result()->type();
    std::int64_t const size = tile.elements() * bytes(tile.element());
    if (on_grid(op))
      own += size;
    else if (op.parent() == &function.body())
      kept += size;
  });
  return !calls && own > 0 && 2 * kept >= own && kept <= most_kept_bytes;
}

/// The axis along which tiles differ in work: the one that says how long loops with products are. -1: none, or several.
std::int64_t uneven_axis(ir::Function& function) {
  std::set<std::int64_t> axes;
  std::set<Value const*> seen;
  ir::walk(function, [&](Op& op) {
    Op const* const loop = op.parent_op();
    if (!op.is<ir::DotOp>() || loop == nullptr || !loop->is<ir::ForOp>()) return;
    for (int i = 0; i < 3; ++i) collect_axes(*loop->operand(i), axes, seen);
  });
  return axes.size() == 1 ? *axes.begin() : -1;
}

/// The ops that a launch fact is computed by.
void collect_launch(Op& op, std::unordered_set<Op*>& launch) {
  if (!launch.insert(&op).second) return;
  for (Value* operand : op.operands())
    if (operand->defining_op() != nullptr) collect_launch(*operand->defining_op(), launch);
}

/// How the CTAs of a kernel stay.
struct Stay {
  std::int64_t per_multiprocessor = 1;
  std::int64_t stages = 0;  ///< of the loop over tiles
};

class Persistence {
 public:
  Persistence(ir::Function& function, Op& grid, Stay stay) : function_(function), grid_(grid), stay_(stay) {}

  void run() {
    // What the launch evaluates stays outside; the rest runs once per tile.
    std::unordered_set<Op*> launch;
    for (Op& op : function_.body())
      if (op.info().has(ir::launch_fact)) collect_launch(op, launch);
    std::vector<Op*> body;
    for (Op& op : function_.body())
      if (launch.count(&op) == 0 && !op.info().has(ir::terminator)) body.push_back(&op);

    ir::Builder builder = ir::Builder::before(function_.body().back());
    builder.set_where(grid_.where());
    std::vector<Value*> const extents(grid_.operands().begin(), grid_.operands().end());
    Value* tiles = extents[0];
    for (std::size_t i = 1; i < extents.size(); ++i) tiles = builder.same(ir::MulOp{}, {tiles, extents[i]});
    Value* all = builder.op(ir::MultiprocessorsOp{}, {}, {ir::Type::index()}).result();
    if (stay_.per_multiprocessor != 1) all = builder.same(ir::MulOp{}, {all, builder.index(stay_.per_multiprocessor)});
    builder.op(ir::GridOp{}, {builder.same(ir::MinOp{}, {tiles, all})}, {});

    // A launch may state another grid, of up to three axes: CTAs count over all of them.
    Value* cta = index_of(builder, 2);
    Value* ctas = extent_of(builder, 2);
    for (int axis = 1; axis >= 0; --axis) {
      Value* const extent = extent_of(builder, axis);
      cta = builder.same(ir::AddOp{}, {builder.same(ir::MulOp{}, {cta, extent}), index_of(builder, axis)});
      ctas = builder.same(ir::MulOp{}, {ctas, extent});
    }
    std::size_t const uneven = static_cast<std::size_t>(uneven_axis(function_));
    std::vector<Value*> counted = extents;
    if (uneven < extents.size()) {
      // Pairs, where there are enough for all CTAs.
      Value* const half = builder.same(ir::CeilDivOp{}, {extents[uneven], builder.index(2)});
      Value* pairs = half;
      for (std::size_t i = 0; i < extents.size(); ++i)
        if (i != uneven) pairs = builder.same(ir::MulOp{}, {pairs, extents[i]});
      Value* const enough = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::ge), {pairs, ctas},
                                          ir::Type::scalar(Element::boolean));
      counted[uneven] = builder.value(ir::SelectOp{}, {enough, half, extents[uneven]}, ir::Type::index());
      tiles = builder.value(ir::SelectOp{}, {enough, pairs, tiles}, ir::Type::index());
    }
    Op& loop = builder.op(of_tiles(stay_.stages), {cta, tiles, ctas}, {});
    ir::Builder inside(loop.add_block());
    inside.set_where(grid_.where());
    Value* const tile = loop.block().add_argument(ir::Type::index(), "tile");
    std::vector<Value*> place = place_of(inside, tile, counted);
    if (uneven < extents.size()) place[uneven] = both_of(inside, place[uneven], counted[uneven], extents[uneven]);
    ir::Block& block = inside.block();
    Op& yield = inside.op(ir::YieldOp{}, {}, {});
    if (&block != &loop.block()) ir::Builder(loop.block()).op(ir::YieldOp{}, {}, {});
    for (Op* op : body) op->move_before(yield);
    ir::walk(block, [&](Op& op) {
      auto const at = [&](std::int64_t axis) { return static_cast<std::size_t>(axis); };
      if (op.is<ir::BlockIndexOp>()) {
        std::size_t const axis = at(op.as<ir::BlockIndexOp>().axis);
        replace(op, axis < place.size() ? place[axis] : nullptr, 0);
      } else if (op.is<ir::GridExtentOp>()) {
        std::size_t const axis = at(op.as<ir::GridExtentOp>().axis);
        replace(op, axis < extents.size() ? extents[axis] : nullptr, 1);
      }
    });
    grid_.erase();
  }

 private:
  static ir::ForOp of_tiles(std::int64_t stages) {
    ir::ForOp loop;
    loop.stages = stages;
    loop.tiles = true;
    return loop;
  }
  static void replace(Op& op, Value* value, std::int64_t otherwise) {
    ir::replace(op, value != nullptr ? value : ir::Builder::before(op).index(otherwise));
  }
  static Value* index_of(ir::Builder& builder, std::int64_t axis) {
    return builder.op(ir::make_op<ir::BlockIndexOp>(axis), {}, {ir::Type::index()}).result();
  }
  static Value* extent_of(ir::Builder& builder, std::int64_t axis) {
    return builder.op(ir::make_op<ir::GridExtentOp>(axis), {}, {ir::Type::index()}).result();
  }

  /// Goes on inside a loop over the indices `first` and, where pairs are counted and it is another one, its partner
  /// from the other end; returns the index.
  static Value* both_of(ir::Builder& b, Value* first, Value* counted, Value* extent) {
    ir::Type const boolean = ir::Type::scalar(Element::boolean);
    Value* const one = b.index(1);
    Value* const last = b.same(ir::SubOp{}, {extent, b.same(ir::AddOp{}, {first, one})});
    Value* const partner =
        b.value(ir::make_op<ir::CompareOp>(ir::Predicate::ge), {last, counted}, boolean);  // it is counted by none else
    Value* const turns = b.value(ir::SelectOp{}, {partner, b.index(2), one}, ir::Type::index());
    Op& loop = b.op(of_tiles(0), {b.index(0), turns, one}, {});
    ir::Builder inside(loop.add_block());
    Value* const turn = loop.block().add_argument(ir::Type::index(), "turn");
    Value* const second = inside.value(ir::make_op<ir::CompareOp>(ir::Predicate::gt), {turn, inside.index(0)}, boolean);
    b = inside;
    return b.value(ir::SelectOp{}, {second, last, first}, ir::Type::index());
  }

  /// Quotient and remainder by one division.
  static std::pair<Value*, Value*> divided(ir::Builder& b, Value* value, Value* by) {
    Value* const quotient = b.same(ir::DivOp{}, {value, by});
    return {quotient, b.same(ir::SubOp{}, {value, b.same(ir::MulOp{}, {quotient, by})})};
  }

  /// The block indices that a tile's number stands for.
  static std::vector<Value*> place_of(ir::Builder& b, Value* tile, std::vector<Value*> const& extents) {
    if (extents.size() == 1) return {tile};
    std::vector<Value*> place(extents.size());
    if (extents.size() == 3) std::tie(place[2], tile) = divided(b, tile, b.same(ir::MulOp{}, {extents[0], extents[1]}));
    Value* const count = b.index(rows_per_group);
    auto const [group, within] = divided(b, tile, b.same(ir::MulOp{}, {extents[0], count}));
    Value* const first = b.same(ir::MulOp{}, {group, count});
    Value* const rows = b.same(ir::MinOp{}, {b.same(ir::SubOp{}, {extents[1], first}), count});
    auto const [column, row] = divided(b, within, rows);
    place[1] = b.same(ir::AddOp{}, {first, row});
    place[0] = column;
    return place;
  }

  ir::Function& function_;
  Op& grid_;
  Stay stay_;
};

}  // namespace

bool stays(ir::Function& function, CompileOptions const& options) {
  if (!function.is_kernel() || options.persistence == Choice::off) return false;
  return options.persistence == Choice::on || product_in_loop(function) || reads_again(function);
}

PassResult persistent_grid(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!stays(function, context.options)) return PassResult::unchanged;
  Op* grid = nullptr;
  for (Op& op : function.body()) {
    if (op.is<ir::GridOp>()) grid = &op;
    if (op.is<ir::MultiprocessorsOp>()) return PassResult::unchanged;  // it stays by itself
  }
  if (grid == nullptr) return PassResult::unchanged;
  Stay stay;
  if (!holds_a_loop(function.body())) {
    stay.per_multiprocessor = row_ctas;
    stay.stages = context.options.stages != 0 ? context.options.stages : row_stages;
  }
  Persistence(function, *grid, stay).run();
  return PassResult::changed;
}

}  // namespace tegula::transform
