#include "transform/tile/narrow_masks.hpp"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/value_memo.hpp"
#include "ir/core/walk.hpp"
#include "support/checked_integer.hpp"
#include "support/wide_integer.hpp"
#include "transform/common/reshapes.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;
using support::Int128;

/// Numbers beyond that are none of coordinates; sums of a few others fit 64 bits.
constexpr std::int64_t greatest_number = std::int64_t{1} << 56;
constexpr std::size_t max_scalars = 32;

/// Describes an integer tile as one iota and a sum of scalars.
struct Coordinates {
  Op const* iota = nullptr;                     ///< null: every element is the same
  std::vector<std::pair<Value*, int>> scalars;  ///< with their signs
  std::int64_t constant = 0;
  [[nodiscard]] std::int64_t extent() const {
    return iota == nullptr ? 1 : iota->result()->type().shape()[iota->as<ir::IotaOp>().axis];
  }
};

/// Coordinates of a function's tiles.
class Tiles {
 public:
  std::optional<Coordinates> const& of(Value const& tile) {
    auto const needs = [](Value const& at, auto const& visit) {
      Op const* const op = at.defining_op();
      if (op != nullptr && (reshapes(*op) || sums(*op))) ir::operands_of(at, visit);
    };
    return known_.of(tile, needs, [&](Value const& at) { return computed(at); });
  }

 private:
  static bool sums(Op const& op) { return op.is<ir::AddOp>() || op.is<ir::SubOp>(); }
  [[nodiscard]] std::optional<Coordinates> computed(Value const& tile) const {
    Op const* const op = tile.defining_op();
    if (op == nullptr || !tile.type().is_tile()) return std::nullopt;
    if (op->is<ir::IotaOp>()) return Coordinates{op, {}, 0};
    if (op->is<ir::SplatOp>()) return Coordinates{nullptr, {{op->operand(), 1}}, 0};
    if (op->is<ir::ConstantOp>()) return Coordinates{nullptr, {}, ir::to_int(op->as<ir::ConstantOp>().value)};
    if (reshapes(*op)) return known_.at(*op->operand());
    if (!sums(*op)) return std::nullopt;
    auto left = known_.at(*op->lhs());
    auto const& right = known_.at(*op->rhs());
    int const sign = op->is<ir::AddOp>() ? 1 : -1;
    if (!left || !right || (right->iota != nullptr && (left->iota != nullptr || sign < 0))) return std::nullopt;
    if (right->iota != nullptr) left->iota = right->iota;
    for (auto const& [value, factor] : right->scalars) left->scalars.emplace_back(value, sign * factor);
    support::Checked const constant = support::Checked(sign) * right->constant + left->constant;
    if (!constant.within(greatest_number) || left->scalars.size() > max_scalars) return std::nullopt;
    left->constant = constant.value();
    return left;
  }

  ir::ValueMemo<std::optional<Coordinates>> known_;
};

/// Returns the iota of a tile in 32 bits, in the tile's shape.
Value* narrow(ir::Builder& builder, Value const& tile, Tiles& tiles) {
  Op const& op = *tile.defining_op();
  ir::Type const type = ir::Type::tile(Element::i32, tile.type().shape());
  if (op.is<ir::IotaOp>()) return builder.value(op.as<ir::IotaOp>(), {}, type);
  if (!reshapes(op))  // a sum: the side that holds the iota has the same shape
    return narrow(builder, tiles.of(*op.lhs())->iota != nullptr ? *op.lhs() : *op.rhs(), tiles);
  Value* const inner = narrow(builder, *op.operand(), tiles);
  return &*builder.create(op.kind(), op.attributes(), {&inner, 1}, {&type, 1}).result();
}

struct Range {
  Int128 min = 0, max = 0;
};

Range range_of(Coordinates const& sum, analysis::AxisFacts const& facts) {
  Range range{sum.constant, sum.constant};
  for (auto const& [value, factor] : sum.scalars) {
    analysis::ValueFacts const known = facts.facts(*value);
    range.min += Int128(factor) * (factor > 0 ? known.min : known.max);
    range.max += Int128(factor) * (factor > 0 ? known.max : known.min);
  }
  return range;
}

/// Tells whether no element of a sum wraps.
bool fits(Coordinates const& sum, analysis::AxisFacts const& facts) {
  using Limits = std::numeric_limits<std::int64_t>;
  Range const range = range_of(sum, facts);
  return range.min >= Limits::min() && range.max + sum.extent() - 1 <= Limits::max();
}

/// Adds up scalars and constants of 64 bits, modulo wrap.
Value* plus(ir::Builder& builder, Value* sum, Coordinates const& all, int sign) {
  for (auto const& [value, factor] : all.scalars)
    sum = sign * factor > 0 ? builder.same(ir::AddOp{}, {sum, value}) : builder.same(ir::SubOp{}, {sum, value});
  return sum;
}

/// Returns sum(to) - sum(from), within min .. max, in 32 bits. Neither sum wraps. Their difference may where the two
/// have different signs; then no more of either is taken than the bounds.
Value* difference(ir::Builder& builder, analysis::AxisFacts const& facts, Coordinates const& to,
                  Coordinates const& from, std::int64_t min, std::int64_t max) {
  using Limits = std::numeric_limits<std::int64_t>;
  auto const constant = [&](Int128 value) { return builder.index(static_cast<std::int64_t>(value)); };
  Range const t = range_of(to, facts), f = range_of(from, facts);
  Value* sum = nullptr;
  if (t.min - f.max >= Limits::min() && t.max - f.min <= Limits::max()) {
    sum = plus(builder, plus(builder, constant(to.constant - from.constant), to, 1), from, -1);
  } else {
    ir::Type const boolean = ir::Type::scalar(Element::boolean);
    Value* const up = plus(builder, constant(to.constant), to, 1);
    Value* const down = plus(builder, constant(from.constant), from, 1);
    auto const is = [&](ir::Predicate predicate, Value* a, Value* b) {
      return builder.value(ir::make_op<ir::CompareOp>(predicate), {a, b}, boolean);
    };
    auto const negative = [&](Value* value) { return is(ir::Predicate::lt, value, builder.index(0)); };
    Value* const negative_up = negative(up);
    Value* const same_sign = is(ir::Predicate::eq, negative_up, negative(down));
    std::int64_t const enough = std::max(-min, max);
    auto const kept = [&](Value* value) {  // of two signs either alone decides where it is large
      Value* const below = builder.same(ir::MinOp{}, {value, builder.index(enough)});
      Value* const within = builder.same(ir::MaxOp{}, {below, builder.index(-enough)});
      return builder.value(ir::SelectOp{}, {same_sign, value, within}, ir::Type::index());
    };
    Value* const kept_up = kept(up);
    sum = builder.same(ir::SubOp{}, {kept_up, kept(down)});
  }
  Value* const high = builder.same(ir::MinOp{}, {sum, builder.index(max)});
  Value* const clamped = builder.same(ir::MaxOp{}, {high, builder.index(min)});
  return builder.value(ir::CastOp{}, {clamped}, ir::Type::scalar(Element::i32));
}

/// Describes a comparison and the coordinates of its sides.
struct Mask {
  Op* compare = nullptr;
  Coordinates left, right;
};

void rewrite(Mask const& mask, Tiles& tiles, analysis::AxisFacts const& facts) {
  Op& compare = *mask.compare;
  Value const &left = *compare.lhs(), &right = *compare.rhs();
  Coordinates const &l = mask.left, &r = mask.right;
  ir::Builder builder = ir::Builder::before(compare);
  builder.set_where(compare.where());
  ir::Type const type = ir::Type::tile(Element::i32, left.type().shape());
  auto const splat = [&](Value* scalar) { return builder.value(ir::SplatOp{}, {scalar}, type); };
  Value *a = nullptr, *b = nullptr;
  if (r.iota == nullptr) {
    a = narrow(builder, left, tiles);
    b = splat(difference(builder, facts, r, l, -1, l.extent()));
  } else if (l.iota == nullptr) {
    a = splat(difference(builder, facts, l, r, -1, r.extent()));
    b = narrow(builder, right, tiles);
  } else {  // a thread holds fewer rows than columns: the scalar goes to the rows
    a = narrow(builder, left, tiles);
    b = narrow(builder, right, tiles);
    auto const moved = [&](Value* tile, Coordinates const& from, Coordinates const& to) {
      return builder.same(ir::AddOp{},
                          {tile, splat(difference(builder, facts, from, to, -from.extent(), to.extent()))});
    };
    if (l.iota->as<ir::IotaOp>().axis < r.iota->as<ir::IotaOp>().axis)
      a = moved(a, l, r);
    else
      b = moved(b, r, l);
  }
  ir::replace(compare, builder.value(compare.as<ir::CompareOp>(), {a, b}, compare.result()->type()));
}

}  // namespace

PassResult narrow_masks(ir::Function& function, PassContext& context) {
  Tiles tiles;
  std::vector<Mask> masks;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::CompareOp>() || !op.lhs()->type().is_tile() || op.lhs()->type().element() != Element::i64) return;
    auto const &left = tiles.of(*op.lhs()), &right = tiles.of(*op.rhs());
    if (!left || !right || (left->iota == nullptr && right->iota == nullptr)) return;
    if (fits(*left, context.analyses.axis_facts()) && fits(*right, context.analyses.axis_facts()))
      masks.push_back({&op, *left, *right});
  });
  for (Mask const& mask : masks) rewrite(mask, tiles, context.analyses.axis_facts());
  return result_of(!masks.empty());
}

}  // namespace tegula::transform
