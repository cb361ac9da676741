#include "transform/simplify/bound_loops.hpp"

#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/values/integer_range.hpp"
#include "ir/values/loop_step.hpp"

namespace tegula::transform {
namespace {

using ir::IntegerRange;
using ir::Loop;
using ir::Op;
using ir::Value;

/// Leaves room for sums of two bounds and the steps of a ring.
constexpr std::int64_t max_bound = std::int64_t{1} << 61;
/// Bounds the steps that axis facts know: extents and the like.
constexpr std::int64_t max_step = max_tensor_extent;
/// Bounds the steps with which 2^52 iterations stay far below max_bound.
constexpr std::int64_t small_step = std::int64_t{1} << 8;

IntegerRange range_of(Value const& value, analysis::AxisFacts const& facts) {
  analysis::ValueFacts const known = facts.facts(value);
  return {known.min, known.max};
}

enum class Rewrite : std::uint8_t { none, clamp, count };

Rewrite rewrite_of(Op const& op, analysis::AxisFacts const& facts) {
  Loop const loop(op);
  IntegerRange const lower = range_of(*loop.lower(), facts), upper = range_of(*loop.upper(), facts),
                     step = range_of(*loop.step(), facts);
  if (lower.within(max_bound) && upper.within(max_bound) && step.max <= max_step) return Rewrite::none;
  bool const steps = step.min == step.max && step.min >= 1 && step.max <= small_step;
  return steps && lower.within(max_bound / 2) ? Rewrite::clamp : Rewrite::count;
}

/// Clamps the upper bound to what the counter can reach, and to the lower bound, below which no iteration begins.
void clamp(Op& op, analysis::AxisFacts const& facts) {
  Loop const loop(op);
  IntegerRange const lower = range_of(*loop.lower(), facts), step = range_of(*loop.step(), facts);
  ir::Builder builder = ir::Builder::before(op);
  builder.set_where(op.where());
  Value* const below =
      builder.same(ir::MinOp{}, {loop.upper(), builder.index(lower.max + step.max * ir::max_iterations)});
  op.set_operand(op.position<ir::ForOp>("upper"), builder.same(ir::MaxOp{}, {below, builder.index(lower.min)}));
}

/// Counts iterations instead.
void count(Op& op) {
  Loop const loop(op);
  Value *const lower = loop.lower(), *const upper = loop.upper(), *const step = loop.step();
  ir::Builder builder = ir::Builder::before(op);
  builder.set_where(op.where());
  ir::Type const natural = ir::Type::scalar(Element::u64), boolean = ir::Type::scalar(Element::boolean);
  auto const as_natural = [&](Value* value) { return builder.value(ir::CastOp{}, {value}, natural); };
  auto const number = [&](std::int64_t value) {
    return builder.constant(ir::make_constant(Element::u64, value), natural);
  };
  Value* const one = builder.index(1);
  // The distance is exact modulo 2^64. It is at least 1 where there is an iteration.
  Value* const distance = as_natural(builder.same(ir::SubOp{}, {upper, lower}));
  Value* const before_last =
      builder.same(ir::DivOp{}, {builder.same(ir::SubOp{}, {distance, number(1)}), as_natural(step)});
  Value* const reached = builder.value(
      ir::CastOp{}, {builder.same(ir::MinOp{}, {before_last, number(ir::max_iterations)})}, ir::Type::index());
  // Idle, but axis facts follow signed numbers alone.
  Value* const below = builder.same(ir::MinOp{}, {reached, builder.index(ir::max_iterations)});
  Value* const trips = builder.same(ir::AddOp{}, {builder.same(ir::MaxOp{}, {below, builder.index(0)}), one});
  Value* const any = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {lower, upper}, boolean);
  Value* const turns = builder.value(ir::SelectOp{}, {any, trips, builder.index(0)}, ir::Type::index());
  Value* const by = ir::has_positive_step(op) ? one : builder.same(ir::MinOp{}, {step, one});

  ir::Builder inside = ir::Builder::before(loop.body().front());
  inside.set_where(op.where());
  Value* const counter = loop.counter();
  Value* const gone = inside.same(ir::MulOp{}, {counter, step});
  Value* const at = inside.same(ir::AddOp{}, {gone, lower});
  counter->replace_all_uses_with(*at);
  gone->defining_op()->set_operand(0, counter);
  op.set_operand(op.position<ir::ForOp>("lower"), builder.index(0));
  op.set_operand(op.position<ir::ForOp>("upper"), turns);
  op.set_operand(op.position<ir::ForOp>("step"), by);
}

}  // namespace

PassResult bound_loops(ir::Function& function, PassContext& context) {
  std::vector<std::pair<Op*, Rewrite>> loops;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::ForOp>()) return;
    Rewrite const rewrite = rewrite_of(op, context.analyses.axis_facts());
    if (rewrite != Rewrite::none) loops.emplace_back(&op, rewrite);
  });
  for (auto const& [loop, rewrite] : loops) {
    if (rewrite == Rewrite::clamp)
      clamp(*loop, context.analyses.axis_facts());
    else
      count(*loop);
  }
  return result_of(!loops.empty());
}

}  // namespace tegula::transform
