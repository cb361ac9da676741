// Relates accesses: boxes, then elements, then bytes. The accesses of an op stand in shared_accesses_of.cpp.
#include "analysis/shared_accesses.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "layout/element_offsets.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/shared_frame.hpp"
#include "ir/text/text.hpp"
#include "target/block_rules.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::analysis {

using namespace ir;

namespace {

constexpr std::int16_t several = -1;
constexpr std::int16_t elected_lane = warp_lanes;
constexpr unsigned all_axes = ~0U;
/// Ranges wider than this count as unknown multiples of their factor.
constexpr std::int64_t widest_spread = 256;
constexpr int max_rounds = 8;  ///< remainders of remainders, and loops after each other

/// Holds the possible distances of two boxes in three forms, each of which is true.
struct Distances {
  Distance exact;    ///< by ranges
  Distance modular;  ///< by multiples where ranges are too wide
  Distance stepped;  ///< by multiples alone

  Distances(std::int64_t fixed, std::int64_t stride) : exact{fixed, {0, 0}, stride}, modular{exact}, stepped{exact} {}
  /// Adds `factor` times any of `range`.
  void widen(Range range, std::int64_t factor) {
    exact.spread = exact.spread + range * factor;
    if (range.bounded() && range.high - range.low <= widest_spread)
      modular.spread = modular.spread + range * factor;
    else
      modular.stride = std::gcd(modular.stride, factor);
    stepped.stride = std::gcd(stepped.stride, factor);
  }
  [[nodiscard]] Meeting meeting(std::int64_t before, std::int64_t after) const {
    return std::min({exact.meeting(before, after), modular.meeting(before, after), stepped.meeting(before, after)});
  }
};

/// Tells whether two accesses to global memory may be to one tensor. An atomic with an order is one to all.
bool may_be_one_tensor(Access const& earlier, Access const& later) {
  return earlier.slice.root == later.slice.root || earlier.slice.root == nullptr || later.slice.root == nullptr;
}

/// Tells whether the memory around the boxes of two accesses of one space may overlap: the tensor, or the bytes.
bool roots_overlap(Access const& earlier, Access const& later) {
  if (earlier.space == Space::global) return may_be_one_tensor(earlier, later);
  return earlier.begin < later.end && later.begin < earlier.end;
}

/// Tells whether both accesses have a box in one buffer or tensor.
bool boxes_in_one_root(Access const& earlier, Access const& later) {
  return earlier.slice.root != nullptr && earlier.slice.root == later.slice.root && !earlier.slice.whole &&
         !later.slice.whole;
}

/// Tells whether two accesses touch no byte in common, as their constants alone tell: most pairs in long kernels.
bool disjoint(Access const& earlier, Access const& later, Op const* turn) {
  if (earlier.slice.root == nullptr || earlier.slice.root != later.slice.root) return !roots_overlap(earlier, later);
  if (earlier.slice.whole || later.slice.whole) return false;
  for (std::size_t i = 0; i < earlier.slice.axes.size(); ++i) {
    auto const &a = earlier.slice.axes[i], &b = later.slice.axes[i];
    bool const fixed = a.per_warp == 0 && b.per_warp == 0 && (turn == nullptr || a.offset.terms.empty()) &&
                       a.offset.terms == b.offset.terms;
    if (fixed &&
        (a.offset.constant + a.extent <= b.offset.constant || b.offset.constant + b.extent <= a.offset.constant))
      return true;
  }
  return false;
}

/// Returns the value that a result of a loop or branch around the earlier access had at that access. For a loop that is
/// the last iteration's value, for a branch that of the access's block. `now`: as of the later access; else as of the
/// iteration right before of `when.turn`. Null: not known.
Value const* yielded_around(Value const& result, Access const& earlier, When when, bool now) {
  Op const* const op = result.defining_op();
  if (op == nullptr || (!op->is<ForOp>() && !op->is<IfOp>()) || !is_inside(*earlier.op, *op)) return nullptr;
  if (now && when.turn != nullptr && is_inside(*op, *when.turn)) return nullptr;
  if (op->is<ForOp>()) return Loop(*op).yielded(result.index());
  Block const* block = earlier.op->parent();
  while (block->parent_op() != op) block = block->parent_op()->parent();
  return block->terminator()->operand(result.index());
}

/// Returns the value that the previous iteration yielded as this one, which `loop` carries; null: it is another value.
Value const* yielded_as(Value const& carried, Op const& loop) {
  if (!loop.is<ForOp>() || carried.owner_block() != &loop.block()) return nullptr;
  int const carry = Loop(loop).carry_of(carried);
  return carry < 0 ? nullptr : Loop(loop).yielded(carry);
}

/// Tells whether the later access may touch bytes of the earlier one in a way that needs an order.
bool may_conflict(Access const& earlier, Access const& later, Op const* turn) {
  if (earlier.space != later.space || !need_order(earlier, later) || disjoint(earlier, later, turn)) return false;
  bool const other_tile =
      turn != nullptr && turn->is<ForOp>() && turn->as<ForOp>().tiles && is_inside(*later.op, *turn);
  return earlier.space != Space::global || !other_tile;
}

/// Returns the level at which all threads of a group of `warps` meet.
Level whole_group(int warps) { return warps > 1 ? Level::group : Level::warp; }

/// Returns the lowest level of a group of `warps` at which the threads of `level` meet.
std::optional<Level> in_group(std::optional<Level> level, int warps) {
  if (!level) return level;
  bool const one_warpgroup = warps <= target::warpgroup_warps;
  if (*level == Level::warpgroup && one_warpgroup) return whole_group(warps);
  return std::min(whole_group(warps), *level);
}

/// Tells whether the bytes of a shared access are known: its box lies at constants.
bool has_known_bytes(Access const& access) {
  return access.slice.root != nullptr && !access.slice.whole && access.slice.root->type().is_shared() &&
         std::all_of(access.slice.axes.begin(), access.slice.axes.end(),
                     [](Slice::Axis const& axis) { return axis.offset.terms.empty(); });
}

/// Tells whether bytes that both boxes touch have the same distance along this axis from a place common to both.
bool comparable(Slice::Axis const& earlier, Slice::Axis const& later, Op const* turn, Meeting where) {
  bool const same = earlier.offset.terms == later.offset.terms;
  bool const moved = turn != nullptr && std::any_of(earlier.offset.terms.begin(), earlier.offset.terms.end(),
                                                    [&](auto const& term) { return is_inside(*term.first, *turn); });
  if (same && !moved) return true;
  // Boxes that only meet where they begin at the same place: bytes that both touch have the same place in both.
  return where == Meeting::aligned && earlier.offset.constant == later.offset.constant && earlier.per_warp == 0 &&
         later.per_warp == 0;
}

/// Names the replica that makes the later access, by its number beside that of the earlier one.
enum class Replica : std::uint8_t { higher, lower };

}  // namespace

std::optional<HazardKind> hazard_kind(Access const& earlier, Access const& later) {
  if (later.write) return earlier.write ? HazardKind::waw : HazardKind::war;
  return earlier.write ? std::optional(HazardKind::raw) : std::nullopt;
}

std::string_view name(HazardKind kind) {
  switch (kind) {
    case HazardKind::raw:
      return "RAW";
    case HazardKind::war:
      return "WAR";
    case HazardKind::waw:
      return "WAW";
  }
  return "";
}

bool need_order(Access const& earlier, Access const& later) {
  return hazard_kind(earlier, later).has_value() && !(earlier.atomic && later.atomic);
}

std::string_view name(Level level) {
  switch (level) {
    case Level::none:
      return "none";
    case Level::warp:
      return "warp";
    case Level::warpgroup:
      return "warpgroup";
    case Level::group:
      return "group";
    case Level::replicas:
      return "replicas";
  }
  return "";
}

std::int64_t elected_around(Op const& op) {
  for (Op const* at = op.parent_op(); at != nullptr; at = at->parent_op())
    if (at->is<ElectOp>()) return at->as<ElectOp>().warp;
  return Access::not_elected;
}

bool is_inside(Op const& op, Op const& outer) {
  for (Op const* at = &op; at != nullptr; at = at->parent_op())
    if (at == &outer) return true;
  return false;
}

bool is_inside(Value const& value, Op const& outer) {
  if (value.defining_op() != nullptr) return value.defining_op() != &outer && is_inside(*value.defining_op(), outer);
  Op const* const around = value.owner_block() == nullptr ? nullptr : value.owner_block()->parent_op();
  return around != nullptr && is_inside(*around, outer);
}

SharedAccesses::SharedAccesses(Function const& function, int warps, Uniformity const* uniformity)
    : function_(function), warps_(warps), uniformity_(uniformity) {
  for (SharedUser const& user : shared_users(function)) offsets_[user.op] = user.offset;
}

Access const& SharedAccesses::waited(Access const& copy, Op const& wait) {
  auto& slot = waited_[{&copy, &wait}];
  if (!slot) {
    slot = std::make_unique<Access>(copy);
    slot->waited_by = &wait;
    slot->completion = Completion::none;
    slot->elected = elected_around(wait);
    slot->holders = slot->elected == Access::not_elected ? Access::Holders::every : Access::Holders::lane;
  }
  return *slot;
}

std::vector<Access const*> const& SharedAccesses::counted_on(Op const& mbarriers) {
  if (!counted_found_) {
    counted_found_ = true;
    walk_pre_order(function_.body(), [&](Op& op) {
      if (completion_of(op) == Completion::mbarrier)
        for (Op const* barrier : buffers_of(*mbarrier_of(op)))
          for (Access const& access : of(op))
            if (access.completion == Completion::mbarrier) counted_[barrier].push_back(&access);
      return Walk::advance;
    });
  }
  return counted_[&mbarriers];
}

Access const& SharedAccesses::keep(Access access) {
  return *kept_.emplace_back(std::make_unique<Access>(std::move(access)));
}

// ---- boxes

/// Splits a sum without the wraps of a ring's slots. Results of loops around the earlier access become the values of
/// the last iteration. Values that `when.turn` carries become those of the previous iteration.
SharedAccesses::Sums SharedAccesses::without_slots(Affine sum, Access const& earlier, When when) {
  Sums result{std::move(sum), {}};
  for (int round = 0; round < max_rounds; ++round) {
    Sums next{{result.now.constant, {}, result.now.fits}, {result.before.constant, {}, result.before.fits}};
    next.modulus = result.modulus;
    bool changed = false;
    auto const add = [&](Value const& value, std::int64_t factor, bool now) {
      Affine& same = now ? next.now : next.before;
      if (uniformity_->divergent(value)) {
        same.fits = false;
        return false;
      }
      if (auto const found = affines_.congruence(value)) {
        same = same + found->sum * factor;
        next.modulus = std::gcd(next.modulus, found->modulus * factor);
      } else if (Value const* const last = yielded_around(value, earlier, when, now); last != nullptr) {
        same = same + affines_.of(*last) * factor;
      } else if (Value const* const carried = now && when.just_before ? yielded_as(value, *when.turn) : nullptr;
                 carried != nullptr) {
        next.before = next.before + affines_.of(*carried) * factor;
      } else {
        same = same + Affine{0, {{&value, factor}}};
        return false;
      }
      return true;
    };
    for (auto const& [value, factor] : result.now.terms) changed = add(*value, factor, true) || changed;
    for (auto const& [value, factor] : result.before.terms) changed = add(*value, factor, false) || changed;
    result = std::move(next);
    if (!changed) break;
  }
  return result;
}

/// Tells whether all warps of the group have the same number.
bool SharedAccesses::uniform(Affine const& sum) const {
  return std::none_of(sum.terms.begin(), sum.terms.end(),
                      [&](auto const& term) { return uniformity_->divergent(*term.first); });
}

/// Puts the last values of counters in their place: of loops around the access alone, where they add to the sum.
Affine SharedAccesses::bounded_above(Affine const& sum, Access const& of, Access const& other) {
  Affine result = sum;
  for (auto const& [value, factor] : sum.terms) {
    if (factor < 0 || !Affines::turns(*value)) continue;
    Op const& loop = *value->owner_block()->parent_op();
    if (!is_inside(*of.op, loop) || is_inside(*other.op, loop)) continue;
    auto const bound = affines_.bound_of_term(*value);
    if (bound && factor % bound->modulus == 0 && uniform(bound->sum))
      result = result + Affine{0, {{value, -factor}}} + bound->sum * (factor / bound->modulus);
  }
  return result;
}

/// Holds two boxes along one axis, and what may change between their accesses.
struct SharedAccesses::AxisPair {
  Access const &earlier, &later;
  Slice::Axis const &from, &to;
  Op const* turn;         ///< the earlier access belongs to an earlier iteration of it; null: of none
  Block const* replicas;  ///< two different replicas of it make the accesses; null: one group of threads
  int warps;

  AxisPair(Access const& before, Access const& after, int axis, Op const* loop, Block const* partition, int group)
      : earlier(before),
        later(after),
        from(before.slice.axes[static_cast<std::size_t>(axis)]),
        to(after.slice.axes[static_cast<std::size_t>(axis)]),
        turn(loop),
        replicas(partition),
        warps(group) {}

  /// Tells whether a value may differ between the two accesses.
  [[nodiscard]] bool varies(Value const& value) const {
    return (turn != nullptr && is_inside(value, *turn)) ||
           (replicas != nullptr && is_inside(value, *replicas->parent_op()));
  }
  /// Returns the growth of a value from the earlier access to the later one; nothing: it may be any. The number of the
  /// replica differs by 1 or more, up or down. The index of the loop has gone on by an iteration or more.
  [[nodiscard]] std::optional<Range> growth(Value const& value, Range range, Replica replica) const {
    if (replicas != nullptr && value.owner_block() == replicas)
      return replica == Replica::higher ? Range{1, range.high} : Range{-range.high, -1};
    if (turn != nullptr && Affines::turns(value) && value.owner_block()->parent_op() == turn)
      return Range{1, range.high};
    return std::nullopt;
  }
  /// Returns the distances from the earlier box at `before` to the later one at `after`.
  [[nodiscard]] Distances distances(Affines& affines, Affine const& before, Affine const& after,
                                    std::int64_t stride = 0, Replica replica = Replica::higher) const {
    std::map<Value const*, std::pair<std::int64_t, std::int64_t>> factors;
    for (auto const& [value, factor] : before.terms) factors[value].first = factor;
    for (auto const& [value, factor] : after.terms) factors[value].second = factor;
    Distances result(after.constant - before.constant, stride);
    for (auto const& [value, both] : factors) {
      auto const [first, second] = both;
      bool const differs = varies(*value);
      if (first == second && !differs) continue;
      Range const range = affines.range_of_term(*value);
      auto const grown = first == second ? growth(*value, range, replica) : std::nullopt;
      if (!differs) {
        result.widen(range, second - first);
      } else if (grown) {
        result.widen(*grown, second);
      } else {
        if (first != 0) result.widen(range, -first);
        if (second != 0) result.widen(range, second);
      }
    }
    if (from.per_warp != 0) result.widen({0, warps - 1}, -from.per_warp);
    if (to.per_warp != 0) result.widen({0, warps - 1}, to.per_warp);
    return result;
  }
};

/// Tells whether loops around one of the two accesses keep its box before or after the other.
bool SharedAccesses::kept_apart_by_loops(AxisPair const& pair) {
  Affine const &from = pair.from.offset, &to = pair.to.offset;
  Affine const last_from = bounded_above(from, pair.earlier, pair.later);
  Affine const last_to = bounded_above(to, pair.later, pair.earlier);
  if (last_from.fits && pair.distances(affines_, last_from, to).exact.whole().low >= pair.from.extent) return true;
  return last_to.fits && pair.distances(affines_, from, last_to).exact.whole().high <= -pair.to.extent;
}

/// Tells where two boxes of ring slots may meet; see without_slots.
Meeting SharedAccesses::meeting_of_slots(AxisPair const& pair, When when) {
  Sums const from = without_slots(pair.from.offset, pair.earlier, {});
  Sums const to = without_slots(pair.to.offset, pair.earlier, when);
  Affine const since = from.now + to.before * -1;
  if (!since.fits || !to.now.fits) return Meeting::anywhere;
  return pair.distances(affines_, since, to.now, std::gcd(from.modulus, to.modulus))
      .meeting(pair.from.extent, pair.to.extent);
}

/// Tells where two boxes may meet. Without `when`, any iterations may have made the accesses.
Meeting SharedAccesses::meeting(Access const& earlier, Access const& later, int axis, std::optional<When> when,
                                Block const* replicas, int warps) {
  AxisPair const pair(earlier, later, axis, when ? when->turn : nullptr, replicas, warps);
  Affine const &from = pair.from.offset, &to = pair.to.offset;
  auto const directly = [&](Replica replica) {
    return pair.distances(affines_, from, to, 0, replica).meeting(pair.from.extent, pair.to.extent);
  };
  Meeting direct = directly(Replica::higher);
  if (replicas != nullptr) direct = std::max(direct, directly(Replica::lower));
  bool const fixed = from.terms.empty() && to.terms.empty();
  // A copy that a lane waited for was issued in an iteration that is not known.
  bool const known = when && earlier.waited_by == nullptr && uniformity_ != nullptr;
  if (!known || fixed || direct == Meeting::never || !uniform(from) || !uniform(to)) return direct;
  if (kept_apart_by_loops(pair)) return Meeting::never;
  return std::min(direct, meeting_of_slots(pair, *when));
}

/// Tells whether two boxes of one root may meet whatever iterations made the accesses.
bool SharedAccesses::boxes_meet(Access const& earlier, Access const& later, Block const* replicas) {
  for (std::size_t axis = 0; axis < earlier.slice.axes.size(); ++axis)
    if (meeting(earlier, later, static_cast<int>(axis), std::nullopt, replicas, warps_) == Meeting::never) return false;
  return true;
}

bool SharedAccesses::touch(Access const& earlier, Access const& later) {
  if (earlier.space != later.space || disjoint(earlier, later, nullptr)) return false;
  return boxes_in_one_root(earlier, later) ? boxes_meet(earlier, later, nullptr) : roots_overlap(earlier, later);
}

Level SharedAccesses::between_replicas(Access const& earlier, Access const& later, Block const& block) {
  bool const generic = earlier.proxy == Proxy::generic && later.proxy == Proxy::generic;
  if (!generic || earlier.space != Space::shared || later.space != Space::shared) return Level::none;
  if (!hazard_kind(earlier, later)) return Level::none;
  bool const one_root = boxes_in_one_root(earlier, later);
  if (one_root && earlier.slice.root->type().is_mbarrier()) return Level::none;
  bool const meets = one_root ? boxes_meet(earlier, later, &block) : roots_overlap(earlier, later);
  return meets ? Level::replicas : Level::none;
}

std::optional<Level> SharedAccesses::relation(Access const& earlier, Access const& later, When when, int warps) {
  if (!may_conflict(earlier, later, when.turn)) return std::nullopt;
  auto const [slot, fresh] = levels_.try_emplace({&earlier, &later, when, warps}, std::nullopt);
  if (!fresh) return slot->second;
  return slot->second = boxes_in_one_root(earlier, later) ? relation_of_boxes(earlier, later, when, warps)
                                                          : relation_of_roots(earlier, later, warps);
}

/// Relates accesses of different roots, or of unknown places: by bytes.
std::optional<Level> SharedAccesses::relation_of_roots(Access const& earlier, Access const& later, int warps) {
  if (!roots_overlap(earlier, later)) return std::nullopt;
  if (earlier.space == Space::global) return whole_group(warps);
  bool const earlier_known = has_known_bytes(earlier), later_known = has_known_bytes(later);
  if (earlier_known && later_known) return in_group(compare(bytes_of(earlier, warps), bytes_of(later, warps)), warps);
  if (!earlier_known && !later_known) return whole_group(warps);
  Access const& known = earlier_known ? earlier : later;
  Access const& other = earlier_known ? later : earlier;
  Footprint const& touched = bytes_of(known, warps);
  bool const meets = std::any_of(touched.begin(), touched.end(), [&](Element const& byte) {
    auto const at = static_cast<std::int64_t>(byte.key);
    return at >= other.begin && at < other.end;
  });
  return meets ? std::optional(whole_group(warps)) : std::nullopt;
}

/// Relates accesses of one root: by the elements of their boxes along the axes where these are comparable.
std::optional<Level> SharedAccesses::relation_of_boxes(Access const& earlier, Access const& later, When when,
                                                       int warps) {
  unsigned axes = 0;
  for (std::size_t i = 0; i < earlier.slice.axes.size(); ++i) {
    Meeting const where = meeting(earlier, later, static_cast<int>(i), when, nullptr, warps);
    if (where == Meeting::never) return std::nullopt;
    if (comparable(earlier.slice.axes[i], later.slice.axes[i], when.turn, where)) axes |= 1U << i;
  }
  return in_group(compare(footprint(earlier, axes, warps), footprint(later, axes, warps)), warps);
}

bool SharedAccesses::covers(Access const& later, Access const& earlier, Op const* turn) {
  if (later.op->is<CallOp>()) return false;  // the function may not come to it
  if (!later.write || !boxes_in_one_root(earlier, later)) return false;
  for (std::size_t i = 0; i < later.slice.axes.size(); ++i) {
    auto const &a = earlier.slice.axes[i], &b = later.slice.axes[i];
    for (auto const& [value, factor] : a.offset.terms)
      if (turn != nullptr && is_inside(*value, *turn)) return false;
    if (a.offset.terms != b.offset.terms || a.per_warp != 0 || b.per_warp != 0) return false;
    if (b.offset.constant > a.offset.constant || b.offset.constant + b.extent < a.offset.constant + a.extent)
      return false;
  }
  return true;
}

// ---- elements

/// Tabulates the distribution of a tile's elements, once per layout.
std::vector<SharedAccesses::Place> const& SharedAccesses::places(Access const& access, int warps) {
  bool const owners = access.holders == Access::Holders::owners;
  auto const [slot, fresh] = places_.try_emplace({access.layout, owners, warps});
  std::vector<Place>& result = slot->second;
  if (!fresh) return result;
  layout::Layout const& layout = *access.layout;
  std::vector<Extents> registers, lanes;
  for (int r = 0; r < layout.registers(); ++r) registers.push_back(layout.part(layout::Dim::reg, r));
  for (int l = 0; l < layout.lanes(); ++l) lanes.push_back(layout.part(layout::Dim::lane, l));
  for (int w = 0; w < warps; ++w) {
    int const of_layout = w % layout.warps();
    Extents const warp = layout.part(layout::Dim::warp, of_layout);
    for (int l = 0; l < layout.lanes(); ++l) {
      Extents const thread = layout.join(warp, lanes[static_cast<std::size_t>(l)]);
      for (int r = 0; r < layout.registers(); ++r) {
        if (owners && !layout.owner(r, l, of_layout)) continue;
        Extents const at = layout.join(thread, registers[static_cast<std::size_t>(r)]);
        std::int64_t linear = 0;
        for (int axis = 0; axis < at.size(); ++axis) linear = linear * layout.shape()[axis] + at[axis];
        result.push_back({static_cast<std::int32_t>(linear), w, layout.lanes() < warp_lanes && !owners ? several : l});
      }
    }
  }
  return result;
}

namespace {

/// Marks the rows of the first axis that a warp has.
std::vector<bool> rows_of_warp(layout::Layout const& layout, int warp) {
  std::vector<bool> rows(static_cast<std::size_t>(layout.shape()[0]), false);
  for (int l = 0; l < layout.lanes(); ++l)
    for (int r = 0; r < layout.registers(); ++r)
      rows[static_cast<std::size_t>(layout.at(r, l, warp % layout.warps())[0])] = true;
  return rows;
}

/// Visits the elements of a slice's box by their numbers in the tile that is moved. Leaves out those of its padding.
template <class Visit>
class BoxWalk {
 public:
  BoxWalk(Slice const& slice, Visit const& visit) : slice_(slice), visit_(visit), at_(slice.axes.size(), 0) {
    for (int const axis : slice.axis_of) {
      auto const& place = slice.axes[static_cast<std::size_t>(axis)];
      tile_.push_back(place.extent + place.padding);
    }
  }
  [[nodiscard]] std::int64_t count() const { return tile_.product(); }
  void element(std::int64_t linear, std::int64_t warp, std::int64_t lane) {
    bool touched = true;
    for (int i = tile_.size() - 1; i >= 0; --i) {
      auto const axis = static_cast<std::size_t>(slice_.axis_of[static_cast<std::size_t>(i)]);
      at_[axis] = linear % tile_[i];
      touched = touched && at_[axis] < slice_.axes[axis].extent;
      linear /= tile_[i];
    }
    if (touched) visit_(at_, static_cast<std::int16_t>(warp), static_cast<std::int16_t>(lane));
  }
  void all(std::int64_t warp, std::int64_t lane) { elements(0, count(), warp, lane); }
  void rows(std::vector<bool> const& marked, std::int64_t warp) {
    std::int64_t const width = count() / tile_[0];
    for (std::int64_t row = 0; row < tile_[0]; ++row)
      if (marked[static_cast<std::size_t>(row)]) elements(row * width, (row + 1) * width, warp, several);
  }

 private:
  void elements(std::int64_t begin, std::int64_t end, std::int64_t warp, std::int64_t lane) {
    for (std::int64_t i = begin; i < end; ++i) element(i, warp, lane);
  }

  Slice const& slice_;
  Visit const& visit_;
  Extents tile_;
  std::vector<std::int64_t> at_;
};

}  // namespace

/// Calls visit(coordinates in the box, one per axis of the root; warp; lane).
template <class Visit>
void SharedAccesses::each_element(Access const& access, int warps, Visit const& visit) {
  Slice const& slice = access.slice;
  BoxWalk walk(slice, visit);
  bool const moves =
      std::any_of(slice.axes.begin(), slice.axes.end(), [](auto const& axis) { return axis.per_warp != 0; });
  switch (access.holders) {
    case Access::Holders::every:
      if (!moves) return walk.all(warps == 1 ? 0 : several, several);
      for (int w = 0; w < warps; ++w) walk.all(w, several);
      return;
    case Access::Holders::lane:
      if (access.elected >= 0) return walk.all(access.elected, elected_lane);
      for (int w = 0; w < warps; w += access.elected == ElectOp::each_warpgroup ? target::warpgroup_warps : 1)
        walk.all(w, elected_lane);
      return;
    case Access::Holders::layout:
    case Access::Holders::owners:
      for (Place const& place : places(access, warps)) walk.element(place.element, place.warp, place.lane);
      return;
    case Access::Holders::rows:
      for (int w = 0; w < warps; ++w) walk.rows(rows_of_warp(*access.layout, w), w);
      return;
    case Access::Holders::chunks:
      for (std::int64_t i = 0; i < walk.count(); ++i) {
        std::int64_t const thread = i / access.vector % (std::int64_t{warp_lanes} * warps);
        walk.element(i, thread / warp_lanes, thread % warp_lanes);
      }
      return;
  }
}

void SharedAccesses::settle(Footprint& footprint) {
  std::sort(footprint.begin(), footprint.end(), [](Element const& a, Element const& b) { return a.key < b.key; });
  std::size_t kept = 0;
  for (std::size_t i = 0; i < footprint.size(); ++i) {
    if (kept > 0 && footprint[kept - 1].key == footprint[i].key) {
      Element& last = footprint[kept - 1];
      if (last.warp != footprint[i].warp) last.warp = several;
      if (last.lane != footprint[i].lane || last.warp == several) last.lane = several;
    } else {
      footprint[kept++] = footprint[i];
    }
  }
  footprint.resize(kept);
}

SharedAccesses::Footprint const& SharedAccesses::footprint(Access const& access, unsigned axes, int warps) {
  auto const [slot, fresh] = footprints_.try_emplace({&access, axes, warps});
  if (!fresh) return slot->second;
  Slice const& slice = access.slice;
  int const bits = slice.axes.empty() ? 1 : std::min<int>(40, 63 / static_cast<int>(slice.axes.size()));
  std::uint64_t const mask = (std::uint64_t{1} << bits) - 1;
  Footprint& result = slot->second;
  each_element(access, warps, [&](std::vector<std::int64_t> const& at, std::int16_t warp, std::int16_t lane) {
    std::uint64_t key = 0;
    for (std::size_t axis = 0; axis < slice.axes.size(); ++axis) {
      Slice::Axis const& place = slice.axes[axis];
      std::int64_t const where = place.offset.constant + place.per_warp * std::max<std::int16_t>(warp, 0) + at[axis];
      key = key << bits | ((axes >> axis & 1) != 0 ? static_cast<std::uint64_t>(where) & mask : 0);
    }
    result.push_back({key, warp, lane});
  });
  settle(result);
  return result;
}

SharedAccesses::Footprint const& SharedAccesses::bytes_of(Access const& access, int warps) {
  auto const [slot, fresh] = footprints_.try_emplace({&access, all_axes, -warps});
  if (!fresh) return slot->second;
  Slice const& slice = access.slice;
  Type const& type = slice.root->type();
  std::string why;
  layout::ElementOffsets const* const offsets = layout::ElementOffsets::get(*type.layout(), why);
  Footprint& result = slot->second;
  int const size = bytes(type.element());
  each_element(access, warps, [&](std::vector<std::int64_t> const& at, std::int16_t warp, std::int16_t lane) {
    Extents where;
    for (std::size_t axis = 0; axis < slice.axes.size(); ++axis)
      where.push_back(std::clamp<std::int64_t>(
          slice.axes[axis].offset.constant + slice.axes[axis].per_warp * std::max<std::int16_t>(warp, 0) + at[axis], 0,
          type.shape()[static_cast<int>(axis)] - 1));
    layout::ElementOffset const distance = offsets == nullptr ? layout::ElementOffset{} : offsets->at(where);
    std::int64_t const first = access.begin + layout::in_bytes(distance, size).count;
    for (std::int64_t byte = first; byte < first + size; ++byte)
      result.push_back({static_cast<std::uint64_t>(byte), warp, lane});
  });
  settle(result);
  return result;
}

std::optional<Level> SharedAccesses::compare(Footprint const& a, Footprint const& b) {
  std::optional<Level> max;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size() && max != Level::group;) {
    if (a[i].key < b[j].key) {
      ++i;
    } else if (b[j].key < a[i].key) {
      ++j;
    } else {
      bool const same_warp = a[i].warp == b[j].warp && a[i].warp != several;
      bool const same_thread = same_warp && a[i].lane == b[j].lane && a[i].lane != several;
      bool const same_group = a[i].warp != several && b[j].warp != several &&
                              a[i].warp / target::warpgroup_warps == b[j].warp / target::warpgroup_warps;
      Level const level = same_thread  ? Level::none
                          : same_warp  ? Level::warp
                          : same_group ? Level::warpgroup
                                       : Level::group;
      max = std::max(max.value_or(Level::none), level);
      ++i;
      ++j;
    }
  }
  return max;
}

std::string SharedAccesses::str() {
  auto const names = value_names(function_);
  std::string text;
  walk_pre_order(function_.body(), [&](Op& op) {
    for (Access const& access : of(op)) {
      text += std::string(op.info().mnemonic) + (access.write ? " writes " : " reads ");
      text += access.slice.root == nullptr ? "bytes" : names.at(access.slice.root);
      text += access.slice.whole ? " somewhere" : "";
      for (Slice::Axis const& axis : access.slice.axes) {
        text += fmt::format(" [{}", axis.offset.constant);
        std::map<std::string, std::int64_t> terms;
        for (auto const& [value, factor] : axis.offset.terms) terms[names.at(value)] = factor;
        for (auto const& [value, factor] : terms) text += fmt::format(" + {} {}", factor, value);
        if (axis.per_warp != 0) text += fmt::format(" + {} warp", axis.per_warp);
        text += fmt::format(", {}]", axis.extent);
      }
      if (access.space == Space::shared) text += fmt::format(" in bytes {}..{}", access.begin, access.end);
      constexpr std::string_view holders[] = {
          "every thread", "the layout's threads", "the owners", "each warp its rows", "one lane", "chunk by chunk"};
      text += std::string(", ") + std::string(holders[static_cast<int>(access.holders)]);
      text += access.proxy == Proxy::async ? ", async" : "";
      text += "\n";
    }
    return Walk::advance;
  });
  return text;
}

}  // namespace tegula::analysis
