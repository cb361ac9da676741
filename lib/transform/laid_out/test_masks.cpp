#include "transform/laid_out/test_masks.hpp"

#include <optional>
#include <utility>
#include <vector>

#include "analysis/coordinate_sums.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "layout/layout.hpp"
#include "transform/common/large_scalars.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Value;

/// True if it is in a loop other than the one over a persistent kernel's tiles.
bool in_loop_of_tile(Op const& op) {
  Op const* at = op.parent_op();
  while (at != nullptr && (!at->is<ir::ForOp>() || at->as<ir::ForOp>().tiles)) at = at->parent_op();
  return at != nullptr;
}

/// Tells whether it stands under its own test.
bool is_tested(Op const& select) {
  Op const* const branch = select.parent_op();
  return branch != nullptr && branch->is<ir::IfOp>() && select.parent() == &branch->block(1) &&
         &branch->block(0).front() == &branch->block(0).back() &&
         branch->block(0).back().in<ir::YieldOp>("values") == select.lhs();
}

/// Returns the ops from a comparison of coordinates to a mask; empty: something else makes it.
std::vector<Op*> producers_of(Value const& mask) {
  std::vector<Op*> producers;
  for (Op* at = mask.defining_op(); at != nullptr; at = at->operand()->defining_op()) {
    producers.push_back(at);
    if (at->is<ir::CompareOp>()) return {producers.rbegin(), producers.rend()};
    if (!at->is<ir::BroadcastOp>()) break;
  }
  return {};
}

/// Describes a mask that is worth a test, and the sum that its comparison asks about.
struct Mask {
  Op* select = nullptr;
  std::vector<Op*> producers;
  analysis::ComparedSum sum;
};

std::optional<Mask> mask_of(Op& select, analysis::CoordinateSums& sums, int worth_a_test) {
  if (!select.result()->type().is_tile() || select.result()->type().layout()->registers() < worth_a_test ||
      in_loop_of_tile(select) || is_tested(select))
    return std::nullopt;
  std::vector<Op*> const producers = producers_of(*select.in<ir::SelectOp>("condition"));
  auto const sum = producers.empty() ? std::nullopt : sums.compared(*producers.front());
  if (!sum || sum->terms.empty()) return std::nullopt;
  return Mask{&select, producers, *sum};
}

void test_first(Mask const& mask) {
  Op& select = *mask.select;
  ir::Builder builder = ir::Builder::before(select);
  builder.set_where(select.where());
  LargeScalars scalars(builder, mask.sum);
  Value* max = builder.index(mask.sum.max);
  for (auto const& [value, factor] : mask.sum.terms)
    max = builder.same(ir::AddOp{}, {max, builder.same(ir::MulOp{}, {scalars.of(value), builder.index(factor)})});
  Value* all = builder.value(ir::make_op<ir::CompareOp>(ir::Predicate::lt), {max, builder.index(0)},
                             ir::Type::scalar(Element::boolean));
  if (Value* const decides = scalars.decides()) all = builder.same(ir::AndOp{}, {all, decides});
  Op& branch = builder.op(ir::IfOp{}, {all}, {select.result()->type()});
  ir::Builder(branch.add_block()).op(ir::YieldOp{}, {select.lhs()}, {});
  ir::Builder otherwise(branch.add_block());
  otherwise.set_where(select.where());
  ir::ValueMap map;
  for (Op* producer : mask.producers) otherwise.clone(*producer, map);
  otherwise.op(ir::YieldOp{}, {otherwise.clone(select, map).result()}, {});
  ir::replace(select, branch.result());
}

}  // namespace

PassResult test_masks(ir::Function& function, PassContext& context) {
  analysis::CoordinateSums sums({nullptr, [](Value const&) { return true; }}, context.analyses.axis_facts());
  std::vector<Mask> masks;
  ir::walk(function, [&](Op& op) {
    if (!op.is<ir::SelectOp>()) return;
    if (auto mask = mask_of(op, sums, context.target.tuning.mask_worth_a_test)) masks.push_back(std::move(*mask));
  });
  for (Mask const& mask : masks) test_first(mask);
  return result_of(!masks.empty());
}

}  // namespace tegula::transform
