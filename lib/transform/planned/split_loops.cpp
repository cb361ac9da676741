#include "transform/planned/split_loops.hpp"

#include <algorithm>
#include <cstdlib>
#include <utility>
#include <vector>

#include "analysis/coordinate_sums.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/fetches.hpp"
#include "transform/common/large_scalars.hpp"

namespace tegula::transform {
namespace {

using ir::Loop;
using ir::Op;
using ir::Value;
using Sum = analysis::ComparedSum;

/// Pairs a comparison of a loop's body with the sum that decides it.
using Mask = std::pair<Op*, Sum>;

/// Describes a loop with products, and its masks that are true everywhere in a part of the iterations.
struct Split {
  Op* loop = nullptr;
  std::vector<Mask> early;  ///< can only turn true as the index grows: true in the last iterations
  std::vector<Mask> late;   ///< can only turn false: true in the first
};

bool from_outside(Value const& value, Op const& loop) {
  ir::Block const* at = value.defining_op() != nullptr ? value.defining_op()->parent() : value.owner_block();
  while (at != nullptr && at != &loop.block()) at = at->parent_op() == nullptr ? nullptr : at->parent_op()->parent();
  return at == nullptr;
}

/// Tells whether the loop goes on where another one stops, or stops where another one goes on: a part of one that was
/// split.
bool is_part(Loop const& loop) {
  auto const bounds = [](Value const& value, ir::OperandName<ir::ForOp> name) {
    return std::any_of(value.uses().begin(), value.uses().end(),
                       [&](ir::Use const& use) { return use.is<ir::ForOp>(name); });
  };
  return bounds(*loop.lower(), "upper") || bounds(*loop.upper(), "lower");
}

/// Finds the masks of a loop; none if the loop is not to be split.
Split split_of(Op& op, analysis::AxisFacts const& facts) {
  Loop const loop(op);
  Split result{&op, {}, {}};
  bool dots = false;
  analysis::CoordinateSums sums({loop.counter(), [&](Value const& value) { return from_outside(value, op); }}, facts);
  for (Op& inner : loop.body()) {
    dots = dots || inner.is<ir::DotOp>();
    if (!inner.is<ir::CompareOp>() || !inner.result()->type().is_tile()) continue;
    auto const sum = sums.compared(inner);
    if (sum && sum->factor != 0) (sum->factor > 0 ? result.late : result.early).emplace_back(&inner, *sum);
  }
  return dots && !is_part(loop) ? result : Split{&op, {}, {}};
}

/// Counts the iterations, from the first on, in which a mask is true everywhere (late), or is not (early): those with
/// factor * index + terms + most < 0, or not. Where the sum does not decide, none is known to be true everywhere.
Value* count(ir::Builder& builder, Loop const& loop, Sum const& sum) {
  LargeScalars scalars(builder, sum);
  Value* left = builder.index(-sum.max);
  auto const take = [&](Value* value, std::int64_t factor) {
    left = builder.same(ir::SubOp{}, {left, builder.same(ir::MulOp{}, {value, builder.index(factor)})});
  };
  for (auto const& [value, factor] : sum.terms) take(scalars.of(value), factor);
  take(loop.lower(), sum.factor);
  if (sum.factor < 0) left = builder.same(ir::SubOp{}, {builder.index(1), left});
  auto const turns_of = [&](Value* length, Value* by) {
    return builder.same(ir::CeilDivOp{}, {builder.same(ir::MaxOp{}, {length, builder.index(0)}), by});
  };
  Value* const turns = turns_of(left, builder.same(ir::MulOp{}, {loop.step(), builder.index(std::abs(sum.factor))}));
  Value* const decides = scalars.decides();
  if (decides == nullptr) return turns;
  Value* const otherwise = sum.factor > 0
                               ? builder.index(0)
                               : turns_of(builder.same(ir::SubOp{}, {loop.upper(), loop.lower()}), loop.step());
  return builder.value(ir::SelectOp{}, {decides, turns, otherwise}, ir::Type::index());
}

/// Splits a loop where all early masks are true, or one of the late masks begins to matter. Returns the two parts;
/// `map` tells values of the second by those of the first.
std::pair<Loop, Loop> part(Op& op, std::vector<Mask> const& masks, bool early, ir::ValueMap& map) {
  Loop const loop(op);
  ir::Builder builder = ir::Builder::before(op);
  builder.set_where(op.where());
  Value* turns = nullptr;
  for (auto const& [compare, sum] : masks) {
    Value* const some = count(builder, loop, sum);
    if (turns == nullptr)
      turns = some;
    else
      turns = early ? builder.same(ir::MaxOp{}, {turns, some}) : builder.same(ir::MinOp{}, {turns, some});
  }
  Value *const lower = loop.lower(), *const upper = loop.upper(), *const step = loop.step();
  Value* const reached = builder.same(ir::AddOp{}, {lower, builder.same(ir::MulOp{}, {turns, step})});
  Value* const middle = builder.same(ir::MaxOp{}, {lower, builder.same(ir::MinOp{}, {reached, upper})});

  Loop const rest(ir::Builder::after(op).clone(op, map));
  for (int k = 0; k < loop.count(); ++k) {
    loop.result(k)->replace_all_uses_with(*rest.result(k));
    rest.result(k)->set_name(loop.result(k)->name());
    rest.set_init(k, loop.result(k));
  }
  op.set_operand(op.position<ir::ForOp>("upper"), middle);
  rest.op().set_operand(rest.op().position<ir::ForOp>("lower"), middle);
  return {loop, rest};
}

void replace_by_true(Value& compared) {
  Op& compare = *compared.defining_op();
  ir::replace(compare, ir::Builder::before(compare).constant(1.0, compared.type()));
}

void rewrite(Split const& split) {
  number_fetches(*split.loop);
  Op* middle = split.loop;
  std::vector<Mask> late = split.late;
  if (!split.early.empty()) {
    ir::ValueMap map;
    middle = &part(*split.loop, split.early, true, map).second.op();
    for (auto& [compare, sum] : late) compare = map.at(compare->result())->defining_op();
    for (auto const& [compare, sum] : split.early) replace_by_true(*map.at(compare->result()));
  }
  if (late.empty()) return;
  ir::ValueMap map;
  part(*middle, late, false, map);
  for (auto const& [compare, sum] : late) replace_by_true(*compare->result());
}

}  // namespace

PassResult split_loops(ir::Function& function, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<Split> splits;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::ForOp>()) return;
    Split split = split_of(op, context.analyses.axis_facts());
    if (!split.early.empty() || !split.late.empty()) splits.push_back(std::move(split));
  });
  for (Split const& split : splits) rewrite(split);
  return result_of(!splits.empty());
}

}  // namespace tegula::transform
