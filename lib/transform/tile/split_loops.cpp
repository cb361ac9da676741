#include "transform/tile/split_loops.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "analysis/coordinate_sums.hpp"
#include "ir/builder.hpp"
#include "ir/loop.hpp"
#include "ir/rewrite.hpp"
#include "ir/walk.hpp"
#include "transform/tile/fetches.hpp"

namespace tegula::transform {
namespace {

using ir::Loop;
using ir::Op;
using ir::Value;
using Sum = analysis::CoordinateSum;

/// Pairs a comparison of a loop's body with the sum that decides it.
using Mask = std::pair<Op*, Sum>;

/// Describes a loop with products, and its masks that can only turn false as the index grows.
struct Split {
  Op* loop = nullptr;
  std::vector<Mask> masks;
};

bool from_outside(Value const& value, Op const& loop) {
  ir::Block const* at = value.defining_op() != nullptr ? value.defining_op()->parent() : value.owner_block();
  while (at != nullptr && at != &loop.block()) at = at->parent_op() == nullptr ? nullptr : at->parent_op()->parent();
  return at == nullptr;
}

/// Tells whether the loop goes on where another one stops: the rest of one that was split.
bool continues(Loop const& loop) {
  auto const& uses = loop.lower()->uses();
  return std::any_of(uses.begin(), uses.end(), [](ir::Use const& use) { return use.is<ir::ForOp>("upper"); });
}

/// Finds the masks of a loop; none if the loop is not to be split.
Split split_of(Op& op, analysis::AxisFacts const& facts) {
  Loop const loop(op);
  Split result{&op, {}};
  bool dots = false;
  analysis::CoordinateSums sums({loop.counter(), [&](Value const& value) { return from_outside(value, op); }}, facts);
  for (Op& inner : loop.body()) {
    dots = dots || inner.is<ir::DotOp>();
    if (!inner.is<ir::CompareOp>() || !inner.result()->type().is_tile()) continue;
    auto const sum = sums.compared(inner);
    if (sum && sum->factor > 0) result.masks.emplace_back(&inner, *sum);
  }
  if (!dots || continues(loop)) result.masks.clear();
  return result;
}

/// Counts the iterations, from the first on, with factor * index + terms + most < 0.
Value* count(ir::Builder& builder, Loop const& loop, Sum const& sum) {
  Value* left = builder.index(-sum.max);
  auto const take = [&](Value* value, std::int64_t factor) {
    left = builder.same(ir::SubOp{}, {left, builder.same(ir::MulOp{}, {value, builder.index(factor)})});
  };
  for (auto const& [value, factor] : sum.terms)
    take(value->type().element() == Element::i64 ? value : builder.value(ir::CastOp{}, {value}, ir::Type::index()),
         factor);
  take(loop.lower(), sum.factor);
  Value* const some = builder.same(ir::MaxOp{}, {left, builder.index(0)});
  return builder.same(ir::CeilDivOp{}, {some, builder.same(ir::MulOp{}, {loop.step(), builder.index(sum.factor)})});
}

void rewrite(Split const& split) {
  Op& op = *split.loop;
  Loop const loop(op);
  number_fetches(op);
  ir::Builder builder = ir::Builder::before(op);
  builder.set_where(op.where());
  Value* turns = nullptr;
  for (auto const& [compare, sum] : split.masks) {
    Value* const some = count(builder, loop, sum);
    turns = turns == nullptr ? some : builder.same(ir::MinOp{}, {turns, some});
  }
  Value *const lower = loop.lower(), *const upper = loop.upper(), *const step = loop.step();
  Value* const reached = builder.same(ir::AddOp{}, {lower, builder.same(ir::MulOp{}, {turns, step})});
  Value* const middle = builder.same(ir::MaxOp{}, {lower, builder.same(ir::MinOp{}, {reached, upper})});

  ir::ValueMap map;
  Loop const rest(ir::Builder::after(op).clone(op, map));
  for (int k = 0; k < loop.count(); ++k) {
    loop.result(k)->replace_all_uses_with(*rest.result(k));
    rest.result(k)->set_name(loop.result(k)->name());
    rest.set_init(k, loop.result(k));
  }
  op.set_operand(op.position<ir::ForOp>("upper"), middle);
  rest.op().set_operand(rest.op().position<ir::ForOp>("lower"), middle);
  for (auto const& [compare, sum] : split.masks) {
    ir::Builder inside = ir::Builder::before(*compare);
    ir::replace(*compare, inside.constant(1.0, compare->result()->type()));
  }
}

}  // namespace

PassResult split_loops(ir::Function& function, AnalysisCache& analyses, PassContext&) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Split> splits;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::ForOp>()) return;
    Split split = split_of(op, analyses.axis_facts());
    if (!split.masks.empty()) splits.push_back(std::move(split));
  });
  for (Split const& split : splits) rewrite(split);
  return result_of(!splits.empty());
}

}  // namespace tegula::transform
