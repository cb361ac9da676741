#include "transform/tile/persistent_grid.hpp"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <set>
#include <tuple>
#include <unordered_set>
#include <utility>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/value_memo.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/loop_regions.hpp"
#include "transform/common/tensor_maps.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// Finds the loops around products. How often they run is the work of a tile.
std::vector<ir::Loop> product_loops(ir::Function& function) {
  std::vector<ir::Loop> loops;
  std::unordered_set<Op const*> seen;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::DotOp>()) return;
    for (Op* at = op.parent_op(); at != nullptr; at = at->parent_op())
      if (at->is<ir::ForOp>() && seen.insert(at).second) loops.emplace_back(*at);
  });
  return loops;
}

/// Tells whether a CTA builds descriptors of slices when it begins. In a loop over tiles their bounds would change.
bool slices_at_start(ir::Function& function) {
  bool found = false;
  for (Op& op : function.body()) found = found || (op.is<ir::SliceOp>() && known_at_start(*op.result()));
  return found;
}

/// Finds the ops that any of the values follows from.
std::unordered_set<Op const*> ops_behind(std::vector<Value const*> open) {
  std::unordered_set<Op const*> ops;
  while (!open.empty()) {
    Op const* const op = open.back()->defining_op();
    open.pop_back();
    if (op == nullptr || !ops.insert(op).second) continue;
    open.insert(open.end(), op->operands().begin(), op->operands().end());
  }
  return ops;
}

/// Finds the axes of the grid that any of the values follows from.
std::set<std::int64_t> axes_behind(std::vector<Value const*> values) {
  std::set<std::int64_t> axes;
  for (Op const* op : ops_behind(std::move(values)))
    if (op->is<ir::BlockIndexOp>()) axes.insert(op->as<ir::BlockIndexOp>().axis);
  return axes;
}

std::vector<Value const*> bounds_of(std::vector<ir::Loop> const& loops) {
  std::vector<Value const*> bounds;
  for (ir::Loop const& loop : loops) bounds.insert(bounds.end(), {loop.lower(), loop.upper(), loop.step()});
  return bounds;
}

/// Tells whether memory says how much work a tile is (lengths of sequences). Then no order deals it evenly, but the GPU
/// does, which gives a multiprocessor its next CTA when it is free.
bool work_from_memory(std::vector<ir::Loop> const& loops) {
  auto const ops = ops_behind(bounds_of(loops));
  return std::any_of(ops.begin(), ops.end(), [](Op const* op) {
    return analysis::is_global_read(*op) && !axes_behind({op->operands().begin(), op->operands().end()}).empty();
  });
}

/// Returns the rows of tiles in a group. CTAs at work in r rows of tiles fetch r times the bytes that belong to a row,
/// and as many times those of a column as there are columns beside each other. The sum is smallest where both are
/// equal.
std::int64_t rows_per_group(ir::Function& function, TargetInfo const& target) {
  std::int64_t const ctas = target.costs.multiprocessors;
  double of_row = 0, of_column = 0;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::LoadOp>() || !op.result()->type().is_tile() || ir::loop_around(*op.parent()) == nullptr) return;
    auto const offsets = op.all<ir::LoadOp>("offsets");
    std::set<std::int64_t> const axes = axes_behind({offsets.begin(), offsets.end()});
    ir::Type const& tile = op.result()->type();
    double const size = static_cast<double>(tile.elements() * bytes(tile.element()));
    if (axes.count(1) != 0 && axes.count(0) == 0) of_row += size;
    if (axes.count(0) != 0 && axes.count(1) == 0) of_column += size;
  });
  if (of_row == 0 || of_column == 0) return target.tuning.usual_rows;
  return std::max<std::int64_t>(std::llround(std::sqrt(static_cast<double>(ctas) * of_column / of_row)), 1);
}

/// Describes how a number moves when a block index grows.
enum class Slope { level, rising, falling, unknown };

Slope opposite(Slope slope) {
  return slope == Slope::rising ? Slope::falling : slope == Slope::falling ? Slope::rising : slope;
}
Slope together(Slope a, Slope b) { return a == Slope::level ? b : b == Slope::level || a == b ? a : Slope::unknown; }

Slope slope_of(Value const& value, std::int64_t axis, ir::ValueMemo<Slope>& memo) {
  auto const positive = [](Value const& factor) { return ir::constant_int(factor).value_or(0) > 0; };
  return memo.of(value, ir::operands_of, [&](Value const& at) {
    Op const* const op = at.defining_op();
    if (op == nullptr || op->is<ir::ConstantOp>()) return Slope::level;
    if (op->is<ir::BlockIndexOp>()) return op->as<ir::BlockIndexOp>().axis == axis ? Slope::rising : Slope::level;
    auto const of = [&](Value const* side) { return memo.at(*side); };
    if (std::all_of(op->operands().begin(), op->operands().end(),
                    [&](Value const* operand) { return memo.at(*operand) == Slope::level; }))
      return Slope::level;
    if (op->is<ir::AddOp>() || op->is<ir::MinOp>() || op->is<ir::MaxOp>())
      return together(of(op->lhs()), of(op->rhs()));
    if (op->is<ir::SubOp>()) return together(of(op->lhs()), opposite(of(op->rhs())));
    if (op->is<ir::CastOp>()) return of(op->operand());
    if ((op->is<ir::MulOp>() || op->is<ir::DivOp>() || op->is<ir::CeilDivOp>()) && positive(*op->rhs()))
      return of(op->lhs());
    if (op->is<ir::MulOp>() && positive(*op->lhs())) return of(op->rhs());
    return Slope::unknown;
  });
}

/// Describes an axis of the grid along which tiles differ in work.
struct UnevenAxis {
  std::size_t axis = 0;
  Slope work = Slope::level;  ///< along it
};

/// Returns the axis that says how long loops with products are; nothing: none, or several.
std::optional<UnevenAxis> uneven_axis(ir::Function& function) {
  std::vector<ir::Loop> const loops = product_loops(function);
  std::set<std::int64_t> const axes = axes_behind(bounds_of(loops));
  if (axes.size() != 1) return std::nullopt;
  UnevenAxis uneven{static_cast<std::size_t>(*axes.begin()), Slope::level};
  ir::ValueMemo<Slope> slopes;
  for (ir::Loop const& loop : loops) {
    Slope const upper = slope_of(*loop.upper(), *axes.begin(), slopes);
    Slope const lower = slope_of(*loop.lower(), *axes.begin(), slopes);
    uneven.work = together(uneven.work, together(upper, opposite(lower)));
  }
  return uneven;
}

/// Collects the ops that compute a launch statement.
void collect_launch(Op& op, std::unordered_set<Op*>& launch) {
  if (!launch.insert(&op).second) return;
  for (Value* operand : op.operands())
    if (operand->defining_op() != nullptr) collect_launch(*operand->defining_op(), launch);
}

/// Describes how a kernel is persistent.
struct PersistencePlan {
  std::int64_t per_multiprocessor = 1;
  std::int64_t stages = 0;  ///< of the loop over tiles
  std::int64_t rows = 1;
  std::int64_t usual_rows = 1;  ///< of a group where nothing tells a better number
  std::int64_t share = 1;       ///< CTAs of a cluster, whose tiles stand one above the other
};

/// Explains why the CTAs of a cluster cannot share fetches; empty: they can. They must run the same iterations, and one
/// whose tile lies behind the last row still fetches for the others.
std::string why_not_share_fetches(ir::Function& function, Op const& grid, bool uneven) {
  if (grid.operand_count() < 2) return "its grid has one axis";
  if (uneven) return "its tiles differ in work";
  std::string error = "no load in a loop is the same for all rows of tiles";
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::LoadOp>() || ir::loop_around(*op.parent()) == nullptr) return;
    auto const offsets = op.all<ir::LoadOp>("offsets");
    if (axes_behind({offsets.begin(), offsets.end()}).count(1) == 0) error.clear();
  });
  ir::walk(function, [&](Op& op) {
    if (ir::is_flow(op)) {
      std::vector<Value const*> const operands(op.operands().begin(), op.operands().end());
      if (axes_behind(operands).count(1) != 0 || op.is<ir::RepeatOp>())
        error = "rows of tiles may differ in their " + std::string(op.info().mnemonic);
    } else if (analysis::runs_once(op) && (op.parent() != &function.body() || op.result_count() > 0)) {
      error = std::string(op.info().mnemonic) + " is not the last of its tile";
    } else if (analysis::is_global_read(op) && !analysis::reads_constant_memory(op)) {
      error = "a CTA behind the last row would read what another one writes";
    }
  });
  return error;
}

class Persistence {
 public:
  Persistence(ir::Function& function, Op& grid, PersistencePlan plan) : function_(function), grid_(grid), plan_(plan) {}

  void run() {
    std::vector<Op*> const body = ops_of_tile();
    ir::Builder builder = ir::Builder::before(function_.body().back());
    builder.set_where(grid_.where());
    std::vector<Value*> const extents(grid_.operands().begin(), grid_.operands().end());
    auto const uneven = uneven_axis(function_);
    std::vector<Value*> places = extents;  // that CTAs, or clusters, take in turn
    Value* const share = builder.index(plan_.share);
    if (plan_.share != 1) places[1] = builder.same(ir::CeilDivOp{}, {extents[1], share});
    Value* tiles = places[0];
    for (std::size_t i = 1; i < places.size(); ++i) tiles = builder.same(ir::MulOp{}, {tiles, places[i]});
    launch_grid(builder, tiles, !uneven);

    Takers const takers = takers_of_tiles(builder, share);
    std::vector<Value*> const inner = extents_in_tile(builder, extents);
    std::optional<TileDeal> deal;
    if (uneven && uneven->axis < extents.size()) deal = deal_tiles(builder, *uneven, extents, takers.count);
    Op& loop = builder.op(of_tiles(plan_.stages), {takers.number, deal ? deal->end : tiles, takers.count}, {});
    ir::Builder inside(loop.add_block());
    inside.set_where(grid_.where());
    Value* const tile = loop.block().add_argument(ir::Type::index(), deal ? "turn" : "tile");
    std::vector<Value*> place =
        deal ? place_in_turn(inside, tile, *uneven, extents, *deal) : place_of(inside, tile, places);
    Value* is_tile = nullptr;
    if (takers.rank != nullptr) {
      place[1] = inside.same(ir::AddOp{}, {inside.same(ir::MulOp{}, {place[1], share}), takers.rank});
      is_tile = is(inside, ir::Predicate::lt, {place[1], extents[1]});
    }
    // There are fewer than 2^31 tiles with loops.
    for (std::size_t i = 0; i < place.size(); ++i)
      if (place[i] != tile && plan_.stages == 0)
        place[i] = named_in(body, extents[i]) || is_narrowed(static_cast<std::int64_t>(i))
                       ? within(inside, place[i], inner[i])
                       : counted(inside, place[i]);
    ir::Block& block = inside.block();
    Op& yield = inside.op(ir::YieldOp{}, {}, {});
    if (&block != &loop.block()) ir::Builder(loop.block()).op(ir::YieldOp{}, {}, {});
    for (Op* op : body) {
      name_again(*op, extents, inner);
      op->move_before(is_tile != nullptr && analysis::runs_once(*op) ? only_if(is_tile, yield) : yield);
    }
    replace_block_indices(block, place, inner);
    grid_.erase();
  }

 private:
  /// Finds the ops that run once per tile. Those that the launch evaluates stay outside.
  std::vector<Op*> ops_of_tile() {
    std::unordered_set<Op*> launch;
    for (Op& op : function_.body())
      if (op.is(ir::Family::launch)) collect_launch(op, launch);
    std::vector<Op*> body;
    for (Op& op : function_.body())
      if (launch.count(&op) == 0 && !op.info().has(ir::terminator)) body.push_back(&op);
    return body;
  }

  /// Holds which of the takers of tiles a CTA belongs to, and how many there are: CTAs, or clusters.
  struct Takers {
    Value* number;
    Value* count;
    Value* rank;  ///< of the CTA in its cluster; null: there are no clusters
  };

  /// Counts the CTAs, or the clusters of those that share fetches. A launch may state another grid, of up to three
  /// axes: CTAs count over all of them.
  Takers takers_of_tiles(ir::Builder& builder, Value* share) {
    Value* cta = index_of(builder, 2);
    Value* ctas = extent_of(builder, 2);
    for (int axis = 1; axis >= 0; --axis) {
      Value* const extent = extent_of(builder, axis);
      cta = builder.same(ir::AddOp{}, {builder.same(ir::MulOp{}, {cta, extent}), index_of(builder, axis)});
      ctas = builder.same(ir::MulOp{}, {ctas, extent});
    }
    // None is negative, but the products above might wrap.
    cta = builder.same(ir::MaxOp{}, {cta, builder.index(0)});
    if (plan_.share == 1) return {cta, ctas, nullptr};
    function_.cluster = static_cast<int>(plan_.share);
    Value* const rank = builder.op(ir::ClusterRankOp{}, {}, {ir::Type::index()}).result();
    rank->set_name("rank");
    cta = builder.same(ir::DivOp{}, {cta, share});
    ctas = builder.same(ir::DivOp{}, {ctas, share});
    return {cta, ctas, rank};
  }

  /// Returns the grid's extents as a tile sees them. Inside of a tile none is below 1. This statement shows axis facts
  /// the range of the indices and of the rest behind them.
  static std::vector<Value*> extents_in_tile(ir::Builder& builder, std::vector<Value*> const& extents) {
    bool const counts = extents.size() == 1;  // the tile's number is the index, and the loop says how large it gets
    std::vector<Value*> inner;
    for (Value* extent : extents)
      inner.push_back(counts || ir::constant_int(*extent) ? extent
                                                          : builder.same(ir::MaxOp{}, {extent, builder.index(1)}));
    return inner;
  }

  /// Replaces the ops that ask for the CTA's place in the grid and for the grid's extents.
  static void replace_block_indices(ir::Block& block, std::vector<Value*> const& place,
                                    std::vector<Value*> const& extents) {
    auto const along = [](std::vector<Value*> const& values, std::int64_t axis) {
      auto const at = static_cast<std::size_t>(axis);
      return at < values.size() ? values[at] : nullptr;
    };
    ir::walk(block, [&](Op& op) {
      if (op.is<ir::BlockIndexOp>()) {
        replace(op, along(place, op.as<ir::BlockIndexOp>().axis), 0);
      } else if (op.is<ir::GridExtentOp>()) {
        replace(op, along(extents, op.as<ir::GridExtentOp>().axis), 1);
      }
    });
  }

  /// States as many CTAs as run at once. With `even`, only as many as take the same number of rounds: the others' power
  /// raises the clock.
  void launch_grid(ir::Builder& builder, Value* tiles, bool even) {
    Value* all = builder.op(ir::MultiprocessorsOp{}, {}, {ir::Type::index()}).result();
    Value* const one = builder.index(1);
    if (plan_.per_multiprocessor != 1) all = builder.same(ir::MulOp{}, {all, builder.index(plan_.per_multiprocessor)});
    if (plan_.share != 1)
      all = builder.same(ir::MaxOp{}, {builder.same(ir::DivOp{}, {all, builder.index(plan_.share)}), one});
    Value* ctas = nullptr;
    if (even && plan_.per_multiprocessor == 1) {
      Value* const rounds = builder.same(ir::MaxOp{}, {builder.same(ir::CeilDivOp{}, {tiles, all}), one});
      ctas = builder.same(ir::CeilDivOp{}, {tiles, rounds});
    } else {
      ctas = builder.same(ir::MinOp{}, {tiles, all});
    }
    if (plan_.share != 1) ctas = builder.same(ir::MulOp{}, {ctas, builder.index(plan_.share)});
    builder.op(ir::GridOp{}, {ctas}, {});
  }

  /// Makes an `if` before an op; returns the end of its block.
  static Op& only_if(Value* condition, Op& before) {
    ir::Builder builder = ir::Builder::before(before);
    Op& branch = builder.op(ir::IfOp{}, {condition}, {});
    ir::Builder then(branch.add_block());
    Op& end = then.op(ir::YieldOp{}, {}, {});
    ir::Builder(branch.add_block()).op(ir::YieldOp{}, {}, {});
    return end;
  }

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

  /// Holds the counts of CTAs whose tiles differ in work along one axis. All of them are kept while tiles are computed,
  /// so they are few 32-bit values: there are fewer than 2^31 tiles with products. A place is one along all other axes.
  ///
  ///   turns  0 .. pairs_in_groups    pairs of the first places, in groups of places
  ///          .. end - 2 * ctas       pairs of the last places: the `outer` most uneven ones of each
  ///          .. end                  two rounds of the tiles of the last places that are left
  struct TileDeal {
    Value* end;  ///< of the loop over turns, an index
    Value* ctas;
    Value* extent;  ///< of that axis
    Value* group;   ///< pairs in a group
    Value* first_places;
    Value* last_places;  ///< at least 1
    Value* pairs_in_groups;
    Value* outer;
  };

  /// Deals the tiles. With L pairs beyond those that fill whole rounds of C CTAs, 2 L tiles are dealt one by one. Their
  /// work goes down from 1 - x of a pair's to x, for x = (C - L) / (2 C - L). Then CTAs with two of them, the second
  /// ones dealt back from the last CTA, have 1 - x as well, and none a whole pair's. Where there are fewer pairs than
  /// CTAs all tiles are dealt.
  [[nodiscard]] TileDeal deal_tiles(ir::Builder& b, UnevenAxis const& uneven, std::vector<Value*> const& extents,
                                    Value* ctas) const {
    Value *const one = b.index(1), *const two = b.index(2), *const zero = b.index(0);
    Value *const extent = extents[uneven.axis], *places = one;
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (i != uneven.axis) places = mul(b, {places, extents[i]});
    Value* const half = b.same(ir::CeilDivOp{}, {extent, two});
    Value* const pairs = mul(b, {half, places});
    Value* const enough = is(b, ir::Predicate::ge, {pairs, ctas});
    Value *first = places, *last = one, *outer = extent, *whole = pairs;  // nothing is dealt
    if (uneven.work == Slope::rising || uneven.work == Slope::falling) {
      auto const [rounds, left] = divided(b, pairs, ctas);
      Value* const tiles = mul(b, {left, two});
      Value* const others = b.same(ir::MaxOp{}, {sub(b, {places, one}), one});
      Value* const spare = sub(b, {extent, b.same(ir::CeilDivOp{}, {tiles, others})});  // keeps a place for pairs alone
      Value* const level =
          b.same(ir::DivOp{}, {mul(b, {extent, sub(b, {ctas, left})}), sub(b, {mul(b, {ctas, two}), left})});
      Value* const max = b.same(ir::DivOp{}, {b.same(ir::MaxOp{}, {spare, zero}), two});
      Value* const kept = b.same(ir::MinOp{}, {level, max});
      Value* const inner = b.same(ir::MaxOp{}, {sub(b, {extent, mul(b, {kept, two})}), one});
      Value* const dealt = b.same(ir::CeilDivOp{}, {tiles, inner});
      Value* deals = is(b, ir::Predicate::gt, {left, zero});
      deals = b.same(ir::AndOp{}, {deals, is(b, ir::Predicate::ge, {spare, zero})});
      deals = b.same(ir::AndOp{}, {deals, is(b, ir::Predicate::le, {mul(b, {inner, dealt}), mul(b, {ctas, two})})});
      last = select(b, {deals, dealt, last});
      outer = select(b, {deals, kept, outer});
      whole = select(b, {deals, mul(b, {rounds, ctas}), whole});
      first = sub(b, {places, select(b, {deals, dealt, zero})});
    }
    first = select(b, {enough, first, zero});
    Value* const end = add(b, {select(b, {enough, whole, zero}), mul(b, {ctas, two})});
    return {end,
            narrow(b, ctas),
            narrow(b, extent),
            narrow(b, mul(b, {half, b.index(plan_.usual_rows)})),
            narrow(b, first),
            narrow(b, select(b, {enough, last, places})),
            narrow(b, mul(b, {half, first})),
            narrow(b, select(b, {enough, outer, zero}))};
  }

  /// Holds the tiles of a CTA in one turn: a pair of tiles, one, or none.
  struct TilesOfTurn {
    Value* count = nullptr;
    Value* first = nullptr;    ///< index of the first one along the uneven axis
    Value* partner = nullptr;  ///< of the second one
    Value* other = nullptr;    ///< their number along all other axes
  };

  /// Makes a loop over the tiles of a turn and moves the builder into it. Returns the tile's place along each axis.
  [[nodiscard]] std::vector<Value*> place_in_turn(ir::Builder& b, Value* turn, UnevenAxis const& uneven,
                                                  std::vector<Value*> const& extents, TileDeal const& deal) const {
    TilesOfTurn const tiles = tiles_of_turn(b, turn, uneven, deal);
    std::vector<Value*> place(extents.size());
    std::vector<std::size_t> axes;
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (i != uneven.axis) axes.push_back(i);
    Value* other = widen(b, tiles.other);
    if (axes.size() == 2) std::tie(place[axes[1]], other) = divided(b, other, extents[axes[0]]);
    if (!axes.empty()) place[axes[0]] = other;
    Op& loop = b.op(of_tiles(0), {b.index(0), widen(b, tiles.count), b.index(1)}, {});
    ir::Builder inside(loop.add_block());
    Value* const nth = loop.block().add_argument(ir::Type::index(), "nth");
    Value* const second = is(inside, ir::Predicate::gt, {nth, inside.index(0)});
    place[uneven.axis] = widen(inside, select(inside, {second, tiles.partner, tiles.first}));
    b = inside;
    return place;
  }

  [[nodiscard]] TilesOfTurn tiles_of_turn(ir::Builder& b, Value* turn, UnevenAxis const& uneven,
                                          TileDeal const& t) const {
    Value* const at = narrow(b, turn);
    Value *const zero = number(b, 0), *const one = number(b, 1), *const two = number(b, 2);
    auto const mirrored = [&](Value* index) { return sub(b, {t.extent, add(b, {index, one})}); };
    // Counts within the first places.
    Value* const count = number(b, plan_.usual_rows);
    auto const [group, within] = divided(b, at, t.group);
    Value* const begin = mul(b, {group, count});
    Value* const there = b.same(ir::MinOp{}, {sub(b, {t.first_places, begin}), count});
    auto const [index_in_groups, place_in_group] = divided(b, within, b.same(ir::MaxOp{}, {there, one}));
    // Counts within the last places: pairs, or single tiles, forth and back.
    Value* const to_go = sub(b, {narrow(b, t.end), at});
    Value* const forth = is(b, ir::Predicate::gt, {to_go, t.ctas});
    Value* const dealt =
        select(b, {forth, add(b, {sub(b, {t.ctas, to_go}), t.ctas}), add(b, {sub(b, {t.ctas, one}), to_go})});
    Value* const single = is(b, ir::Predicate::le, {sub(b, {to_go, t.ctas}), t.ctas});
    Value* const beyond = b.same(ir::MaxOp{}, {sub(b, {at, t.pairs_in_groups}), zero});
    auto const [row, last_place] = divided(b, select(b, {single, dealt, beyond}), t.last_places);
    Value* const is_last = is(b, ir::Predicate::ge, {at, t.pairs_in_groups});
    Value* const inner = add(b, {t.outer, row});
    Value* const is_inner = is(b, ir::Predicate::lt, {add(b, {inner, t.outer}), t.extent});
    Value* const is_outer = is(b, ir::Predicate::lt, {row, t.outer});

    Value* const pair = select(b, {is_last, row, index_in_groups});
    Value* const partner = mirrored(pair);
    Value* const first = select(b, {single, uneven.work == Slope::rising ? mirrored(inner) : inner, pair});
    Value* tiles = select(b, {is(b, ir::Predicate::gt, {partner, pair}), two, one});
    tiles = select(b, {is_last, select(b, {is_outer, two, zero}), tiles});
    tiles = select(b, {single, select(b, {is_inner, one, zero}), tiles});
    Value* const other = select(b, {is_last, add(b, {t.first_places, last_place}), add(b, {begin, place_in_group})});
    return {tiles, first, partner, other};
  }

  static Value* number(ir::Builder& b, std::int64_t value) {
    return b.constant(ir::make_constant(Element::i32, value), ir::Type::scalar(Element::i32));
  }
  static Value* narrow(ir::Builder& b, Value* x) { return b.value(ir::CastOp{}, {x}, ir::Type::scalar(Element::i32)); }
  static Value* widen(ir::Builder& b, Value* x) { return b.value(ir::CastOp{}, {x}, ir::Type::index()); }
  // Operands stand in braces, which keep the order of the ops that make them.
  using Operands = std::initializer_list<Value*>;
  static Value* add(ir::Builder& b, Operands of) { return b.same(ir::AddOp{}, of); }
  static Value* sub(ir::Builder& b, Operands of) { return b.same(ir::SubOp{}, of); }
  static Value* mul(ir::Builder& b, Operands of) { return b.same(ir::MulOp{}, of); }
  static Value* is(ir::Builder& b, ir::Predicate predicate, Operands of) {
    return b.value(ir::make_op<ir::CompareOp>(predicate), of, ir::Type::scalar(Element::boolean));
  }
  static Value* select(ir::Builder& b, Operands of) { return b.value(ir::SelectOp{}, of, (*(of.begin() + 1))->type()); }

  /// Returns quotient and remainder by one division.
  static std::pair<Value*, Value*> divided(ir::Builder& b, Value* value, Value* by) {
    Value* const quotient = b.same(ir::DivOp{}, {value, by});
    return {quotient, b.same(ir::SubOp{}, {value, b.same(ir::MulOp{}, {quotient, by})})};
  }

  /// Returns a value that lies in 0 .. extent - 1, in a form that says so.
  static Value* within(ir::Builder& b, Value* index, Value* extent) {
    Value* const last = b.same(ir::SubOp{}, {extent, b.index(1)});
    return b.same(ir::MinOp{}, {b.same(ir::MaxOp{}, {index, b.index(0)}), last});
  }
  /// Returns an index that is not negative, in a form that says so and takes a register of 32 bits while the tile is
  /// computed.
  static Value* counted(ir::Builder& b, Value* index) {
    return widen(b, b.same(ir::MaxOp{}, {narrow(b, index), number(b, 0)}));
  }
  static bool named_in(std::vector<Op*> const& body, Value const* extent) {
    return std::any_of(extent->uses().begin(), extent->uses().end(), [&](ir::Use const& use) {
      Op const* top = use.user;
      while (top->parent_op() != nullptr) top = top->parent_op();
      return std::find(body.begin(), body.end(), top) != body.end();
    });
  }
  /// Tells whether the kernel takes numbers that follow from an index of the grid to fewer bits. They keep their value
  /// if the index has a range.
  [[nodiscard]] bool is_narrowed(std::int64_t axis) const {
    bool found = false;
    ir::walk(function_, [&](Op& op) {
      if (found || !op.is<ir::CastOp>() || !op.result()->type().is_scalar()) return;
      Element const from = op.operand()->type().element(), to = op.result()->type().element();
      found = is_integer(from) && is_integer(to) && bits(to) < bits(from) && axes_behind({op.operand()}).contains(axis);
    });
    return found;
  }
  /// Makes an op and those inside it use other values.
  static void name_again(Op& op, std::vector<Value*> const& before, std::vector<Value*> const& after) {
    for (int i = 0; i < op.operand_count(); ++i)
      for (std::size_t v = 0; v < before.size(); ++v)
        if (op.operand(i) == before[v]) op.set_operand(i, after[v]);
    for (int block = 0; block < op.block_count(); ++block)
      for (Op& inner : op.block(block)) name_again(inner, before, after);
  }

  /// Returns the block indices that a tile's number stands for.
  std::vector<Value*> place_of(ir::Builder& b, Value* tile, std::vector<Value*> const& extents) const {
    if (extents.size() == 1) return {tile};
    std::vector<Value*> place(extents.size());
    if (extents.size() == 3) std::tie(place[2], tile) = divided(b, tile, b.same(ir::MulOp{}, {extents[0], extents[1]}));
    if (plan_.stages != 0) {  // neighbours share nothing: row by row
      auto const [row, column] = divided(b, tile, extents[0]);
      place[1] = row;
      place[0] = b.same(ir::MaxOp{}, {column, b.index(0)});
      return place;
    }
    Value* const count = b.index(plan_.rows);
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
  PersistencePlan plan_;
};

/// Tells whether the kernel calls functions, which may ask for the block's index.
bool holds_a_call(ir::Function& function) {
  bool found = false;
  ir::walk(function, [&](Op const& op) { found = found || op.is<ir::CallOp>(); });
  return found;
}

/// Decides whether a kernel becomes persistent: as the options say, else if it has a loop of products whose work
/// neither a slice nor memory decides.
bool becomes_persistent(ir::Function& function, CompileOptions const& options) {
  if (!function.is_kernel() || options.persistence == Choice::off) return false;
  if (options.persistence == Choice::on) return true;
  std::vector<ir::Loop> const loops = product_loops(function);
  return !loops.empty() && !slices_at_start(function) && !work_from_memory(loops);
}

/// Returns the CTAs that share fetches, as the options ask for; 1: none, and why stands in a remark.
std::int64_t shared_fetches(ir::Function& function, Op const& grid, PassContext& context) {
  int const share = context.options.share;
  if (share == 0 || share == 1 || context.options.split > 1 || function.cluster != 1) return 1;
  std::string const error = context.target.has(Ability::clusters)
                                ? why_not_share_fetches(function, grid, uneven_axis(function).has_value())
                                : std::string(context.target.architecture) + " has no clusters";
  if (error.empty()) return share;
  context.diagnostics.remark("persistent-grid: the CTAs of @" + function.name() + " do not share fetches: " + error,
                             grid.where());
  return 1;
}

}  // namespace

PassResult persistent_grid(ir::Function& function, PassContext& context) {
  if (!becomes_persistent(function, context.options)) return PassResult::unchanged;
  if (holds_a_call(function)) {
    context.diagnostics.error("persistent-grid: @" + function.name() +
                                  " calls functions, which may ask for the block's index; "
                                  "inline-device-functions must come before it",
                              function.where);
    return PassResult::unchanged;
  }
  Op* grid = nullptr;
  for (Op& op : function.body()) {
    if (op.is<ir::GridOp>()) grid = &op;
    if (op.is<ir::MultiprocessorsOp>()) return PassResult::unchanged;  // written as persistent
  }
  if (grid == nullptr) return PassResult::unchanged;
  PersistencePlan plan;
  if (!holds_a_loop(function.body())) {
    plan.per_multiprocessor = context.target.tuning.row_ctas;
    plan.stages = context.options.stages != 0 ? context.options.stages : context.target.tuning.row_stages;
  }
  plan.usual_rows = context.target.tuning.usual_rows;
  plan.rows = rows_per_group(function, context.target);
  plan.share = shared_fetches(function, *grid, context);
  plan.rows = std::max<std::int64_t>(plan.rows / plan.share, 1);
  Persistence(function, *grid, plan).run();
  return PassResult::changed;
}

}  // namespace tegula::transform
