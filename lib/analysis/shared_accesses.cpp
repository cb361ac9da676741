// Relates accesses: boxes, then elements, then bytes. The accesses of an op stand in shared_accesses_of.cpp.
#include "analysis/shared_accesses.hpp"

#include <algorithm>
#include <numeric>

#include "layout/element_offsets.hpp"
#include "ir/builder.hpp"
#include "ir/loop.hpp"
#include "ir/shared_frame.hpp"
#include "ir/text.hpp"
#include "ir/walk.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::analysis {

using namespace ir;

namespace {

constexpr std::int16_t several = -1;
constexpr std::int16_t elected_lane = 32;
constexpr unsigned all_axes = ~0U;
/// Ranges wider than this count as unknown multiples of their factor.
constexpr std::int64_t widest_spread = 256;
constexpr int max_rounds = 8;  ///< remainders of remainders, and loops behind each other

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

/// Tells whether two accesses touch no byte in common, as their constants alone tell: most pairs in long kernels.
bool disjoint(Access const& earlier, Access const& later, Op const* turn) {
  if (earlier.slice.root == nullptr || earlier.slice.root != later.slice.root)
    return earlier.space == Space::global ? !may_be_one_tensor(earlier, later)
                                          : earlier.begin >= later.end || later.begin >= earlier.end;
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

/// Gives the value that a result of a loop or branch around the earlier access had at that access. For a loop that is
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

/// Gives the value that the previous iteration yielded as this one, which `loop` carries; null: it is another value.
Value const* yielded_as(Value const& carried, Op const& loop) {
  if (!loop.is<ForOp>() || carried.owner_block() != &loop.block()) return nullptr;
  int const carry = Loop(loop).carry_of(carried);
  return carry < 0 ? nullptr : Loop(loop).yielded(carry);
}

}  // namespace

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

/// Tells where two boxes may meet. Without `when`, any iterations may have made the accesses.
Meeting SharedAccesses::meeting(Access const& earlier, Access const& later, int axis, std::optional<When> when,
                                Block const* replicas, int warps) {
  Op const* const turn = when ? when->turn : nullptr;
  auto const& a = earlier.slice.axes[static_cast<std::size_t>(axis)];
  auto const& b = later.slice.axes[static_cast<std::size_t>(axis)];
  auto const varies = [&](Value const& value) {
    return (turn != nullptr && is_inside(value, *turn)) ||
           (replicas != nullptr && is_inside(value, *replicas->parent_op()));
  };
  // The number of the replica differs by 1 or more, up or down. The index of the loop has gone on by an iteration or
  // more.
  auto const distances = [&](Affine const& from, Affine const& to, std::int64_t stride, int sign) {
    std::map<Value const*, std::pair<std::int64_t, std::int64_t>> factors;
    for (auto const& [value, factor] : from.terms) factors[value].first = factor;
    for (auto const& [value, factor] : to.terms) factors[value].second = factor;
    Distances result(to.constant - from.constant, stride);
    for (auto const& [value, both] : factors) {
      auto const [before, after] = both;
      if (!varies(*value)) {
        if (after != before) result.widen(affines_.range_of_term(*value), after - before);
      } else if (before == after && replicas != nullptr && value->owner_block() == replicas) {
        std::int64_t const max = affines_.range_of_term(*value).high;
        result.widen(sign > 0 ? Range{1, max} : Range{-max, -1}, after);
      } else if (before == after && turn != nullptr && Affines::turns(*value) &&
                 value->owner_block()->parent_op() == turn) {
        result.widen({1, affines_.range_of_term(*value).high}, after);
      } else {
        if (before != 0) result.widen(affines_.range_of_term(*value), -before);
        if (after != 0) result.widen(affines_.range_of_term(*value), after);
      }
    }
    if (a.per_warp != 0) result.widen({0, warps - 1}, -a.per_warp);
    if (b.per_warp != 0) result.widen({0, warps - 1}, b.per_warp);
    return result;
  };
  Meeting direct = distances(a.offset, b.offset, 0, 1).meeting(a.extent, b.extent);
  if (replicas != nullptr) direct = std::max(direct, distances(a.offset, b.offset, 0, -1).meeting(a.extent, b.extent));
  bool const fixed = a.offset.terms.empty() && b.offset.terms.empty();
  // A copy that a lane waited for was issued in an iteration that is not known.
  bool const known = when && earlier.waited_by == nullptr && uniformity_ != nullptr;
  if (!known || fixed || direct == Meeting::never || !uniform(a.offset) || !uniform(b.offset)) return direct;
  // Loops around one of the two keep it before or behind the other.
  Affine const last_a = bounded_above(a.offset, earlier, later), last_b = bounded_above(b.offset, later, earlier);
  if (last_a.fits && distances(last_a, b.offset, 0, 1).exact.whole().low >= a.extent) return Meeting::never;
  if (last_b.fits && distances(a.offset, last_b, 0, 1).exact.whole().high <= -b.extent) return Meeting::never;
  Sums const from = without_slots(a.offset, earlier, {}), to = without_slots(b.offset, earlier, *when);
  Affine const since = from.now + to.before * -1;
  if (!since.fits || !to.now.fits) return direct;
  std::int64_t const stride = std::gcd(from.modulus, to.modulus);
  return std::min(direct, distances(since, to.now, stride, 1).meeting(a.extent, b.extent));
}

bool SharedAccesses::touch(Access const& earlier, Access const& later) {
  if (earlier.space != later.space || disjoint(earlier, later, nullptr)) return false;
  bool const known = earlier.slice.root != nullptr && !earlier.slice.whole && !later.slice.whole;
  if (earlier.slice.root == later.slice.root && known) {
    for (std::size_t axis = 0; axis < earlier.slice.axes.size(); ++axis)
      if (meeting(earlier, later, static_cast<int>(axis), std::nullopt, nullptr, warps_) == Meeting::never)
        return false;
    return true;
  }
  if (earlier.space == Space::global) return may_be_one_tensor(earlier, later);
  return earlier.begin < later.end && later.begin < earlier.end;
}

Level SharedAccesses::between_replicas(Access const& earlier, Access const& later, Block const& block) {
  bool const generic = earlier.proxy == Proxy::generic && later.proxy == Proxy::generic;
  if (!generic || earlier.space != Space::shared || later.space != Space::shared) return Level::none;
  if (!earlier.write && !later.write) return Level::none;
  int const warps = warps_;
  if (earlier.slice.root == later.slice.root && earlier.slice.root != nullptr && !earlier.slice.whole &&
      !later.slice.whole) {
    if (earlier.slice.root->type().is_mbarrier()) return Level::none;
    for (std::size_t axis = 0; axis < earlier.slice.axes.size(); ++axis)
      if (meeting(earlier, later, static_cast<int>(axis), std::nullopt, &block, warps) == Meeting::never)
        return Level::none;
    return Level::replicas;
  }
  return earlier.begin < later.end && later.begin < earlier.end ? Level::replicas : Level::none;
}

std::optional<Level> SharedAccesses::relation(Access const& earlier, Access const& later, When when, int warps) {
  Op const* const turn = when.turn;
  if (earlier.space != later.space || (!earlier.write && !later.write)) return std::nullopt;
  if ((earlier.atomic && later.atomic) || disjoint(earlier, later, turn)) return std::nullopt;
  bool const other_tile =
      turn != nullptr && turn->is<ForOp>() && turn->as<ForOp>().tiles && is_inside(*later.op, *turn);
  if (earlier.space == Space::global && other_tile) return std::nullopt;
  auto const [slot, fresh] = levels_.try_emplace({&earlier, &later, when, warps}, std::nullopt);
  if (!fresh) return slot->second;
  Level const max = warps > 1 ? Level::group : Level::warp;
  auto const at_most = [&](std::optional<Level> level) {
    if (level == Level::warpgroup && warps <= isa::warps_per_group) level = Level::group;  // there is but one
    return level ? std::optional(std::min(max, *level)) : level;
  };
  auto const decide = [&]() -> std::optional<Level> {
    bool const whole = earlier.slice.whole || later.slice.whole;
    if (earlier.slice.root == nullptr || earlier.slice.root != later.slice.root || whole) {
      if (earlier.space == Space::global) return may_be_one_tensor(earlier, later) ? std::optional(max) : std::nullopt;
      if (earlier.begin >= later.end || later.begin >= earlier.end) return std::nullopt;
      auto const known = [](Access const& access) {
        return access.slice.root != nullptr && !access.slice.whole && access.slice.root->type().is_shared() &&
               std::all_of(access.slice.axes.begin(), access.slice.axes.end(),
                           [](Slice::Axis const& axis) { return axis.offset.terms.empty(); });
      };
      if (!known(earlier) || !known(later)) {
        if (!known(earlier) && !known(later)) return max;
        Access const& one = known(earlier) ? earlier : later;
        Access const& other = known(earlier) ? later : earlier;
        Footprint const& touched = bytes_of(one, warps);
        bool const meets = std::any_of(touched.begin(), touched.end(), [&](Element const& byte) {
          auto const at = static_cast<std::int64_t>(byte.key);
          return at >= other.begin && at < other.end;
        });
        return meets ? std::optional(max) : std::nullopt;
      }
      return at_most(compare(bytes_of(earlier, warps), bytes_of(later, warps)));
    }
    unsigned comparable = 0;
    for (std::size_t i = 0; i < earlier.slice.axes.size(); ++i) {
      Meeting const where = meeting(earlier, later, static_cast<int>(i), when, nullptr, warps);
      if (where == Meeting::never) return std::nullopt;
      auto const &a = earlier.slice.axes[i], &b = later.slice.axes[i];
      bool same = a.offset.terms == b.offset.terms;
      for (auto const& [value, factor] : a.offset.terms) same = same && (turn == nullptr || !is_inside(*value, *turn));
      // Boxes that only meet where they begin at the same place: bytes that both touch have the same place in both.
      same = same || (where == Meeting::aligned && a.offset.constant == b.offset.constant && a.per_warp == 0 &&
                      b.per_warp == 0);
      if (same) comparable |= 1U << i;
    }
    return at_most(compare(footprint(earlier, comparable, warps), footprint(later, comparable, warps)));
  };
  return slot->second = decide();
}

bool SharedAccesses::covers(Access const& later, Access const& earlier, Op const* turn) {
  if (later.op->is<CallOp>()) return false;  // the function may not come to it
  if (!later.write || later.slice.root == nullptr || later.slice.root != earlier.slice.root || later.slice.whole ||
      earlier.slice.whole)
    return false;
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
        result.push_back({static_cast<std::int32_t>(linear), w, layout.lanes() < 32 && !owners ? several : l});
      }
    }
  }
  return result;
}

/// Calls visit(coordinates in the box, one per axis of the root; warp; lane).
template <class Visit>
void SharedAccesses::each_element(Access const& access, int warps, Visit const& visit) {
  Slice const& slice = access.slice;
  Extents tile;
  for (int const axis : slice.axis_of) {
    auto const& place = slice.axes[static_cast<std::size_t>(axis)];
    tile.push_back(place.extent + place.padding);
  }
  std::int64_t const count = tile.product();
  std::vector<std::int64_t> at(slice.axes.size(), 0);
  auto const touch = [&](std::int64_t linear, std::int64_t warp, std::int64_t lane) {
    bool touched = true;
    for (int i = tile.size() - 1; i >= 0; --i) {
      auto const axis = static_cast<std::size_t>(slice.axis_of[static_cast<std::size_t>(i)]);
      at[axis] = linear % tile[i];
      touched = touched && at[axis] < slice.axes[axis].extent;
      linear /= tile[i];
    }
    if (touched) visit(at, static_cast<std::int16_t>(warp), static_cast<std::int16_t>(lane));
  };
  auto const all = [&](std::int64_t warp, std::int64_t lane) {
    for (std::int64_t i = 0; i < count; ++i) touch(i, warp, lane);
  };
  bool const moves =
      std::any_of(slice.axes.begin(), slice.axes.end(), [](auto const& axis) { return axis.per_warp != 0; });
  switch (access.holders) {
    case Access::Holders::every:
      if (!moves) return all(warps == 1 ? 0 : several, several);
      for (int w = 0; w < warps; ++w) all(w, several);
      return;
    case Access::Holders::lane:
      if (access.elected >= 0) return all(access.elected, elected_lane);
      for (int w = 0; w < warps; w += access.elected == ElectOp::each_warpgroup ? isa::warps_per_group : 1)
        all(w, elected_lane);
      return;
    case Access::Holders::layout:
    case Access::Holders::owners:
      for (Place const& place : places(access, warps)) touch(place.element, place.warp, place.lane);
      return;
    case Access::Holders::rows: {
      layout::Layout const& layout = *access.layout;
      for (int w = 0; w < warps; ++w) {
        std::vector<bool> rows(static_cast<std::size_t>(layout.shape()[0]), false);
        for (int l = 0; l < layout.lanes(); ++l)
          for (int r = 0; r < layout.registers(); ++r)
            rows[static_cast<std::size_t>(layout.at(r, l, w % layout.warps())[0])] = true;
        std::int64_t const width = count / tile[0];
        for (std::int64_t row = 0; row < tile[0]; ++row)
          for (std::int64_t i = 0; rows[static_cast<std::size_t>(row)] && i < width; ++i)
            touch(row * width + i, w, several);
      }
      return;
    }
    case Access::Holders::chunks:
      for (std::int64_t i = 0; i < count; ++i) {
        std::int64_t const thread = i / access.vector % (32 * warps);
        touch(i, thread / 32, thread % 32);
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
                              a[i].warp / isa::warps_per_group == b[j].warp / isa::warps_per_group;
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
        text += " [" + std::to_string(axis.offset.constant);
        std::map<std::string, std::int64_t> terms;
        for (auto const& [value, factor] : axis.offset.terms) terms[names.at(value)] = factor;
        for (auto const& [value, factor] : terms) text += " + " + std::to_string(factor) + " " + value;
        if (axis.per_warp != 0) text += " + " + std::to_string(axis.per_warp) + " warp";
        text += ", " + std::to_string(axis.extent) + "]";
      }
      if (access.space == Space::shared)
        text += " in bytes " + std::to_string(access.begin) + ".." + std::to_string(access.end);
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
