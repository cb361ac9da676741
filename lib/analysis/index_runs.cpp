#include "analysis/index_runs.hpp"

#include <algorithm>
#include <numeric>

#include "analysis/axis_lattice.hpp"
#include "ir/core/builder.hpp"

namespace tegula::analysis {
namespace {

std::int64_t power_of_two_part(std::int64_t value) { return value & -value; }

/// Returns the positions along the last axis in which a value is equal.
std::int64_t constant_run(ir::Value const& value, std::int64_t extent, AxisFacts const& facts) {
  return value.type().is_tile() ? power_of_two_part(facts.facts(value).axes.back().constancy)
                                : power_of_two_part(extent);
}

/// Returns the positions in which an index counts up by 1 from a multiple of their number. A mask is select(m, index, a
/// negative number): it leaves out whole groups where it is equal in them.
std::int64_t counting_run(ir::Value const& index, AxisFacts const& facts) {
  if (!index.type().is_tile()) return 1;
  ir::Op const* const op = index.defining_op();
  if (op != nullptr && op->is<ir::SelectOp>()) {
    ValueFacts const outside = facts.facts(*op->rhs());
    std::int64_t const masked =
        power_of_two_part(facts.facts(*op->in<ir::SelectOp>("condition")).axes.back().constancy);
    if (outside.max < 0) return std::min(masked, counting_run(*op->lhs(), facts));
  }
  AxisFact const fact = facts.facts(index).axes.back();
  std::int64_t run = power_of_two_part(fact.contiguity);
  while (run > 1 && divisor_at(fact, run) % run != 0) run /= 2;
  return run;
}

}  // namespace

std::int64_t index_run(ir::Op const& op, AxisFacts const& facts) {
  ir::Type const& tile = op.result_count() == 1 ? op.result()->type() : op.in("tile")->type();
  if (!tile.is_tile() || tile.rank() == 0) return 1;
  auto const indices = op.all("indices");
  std::int64_t run = counting_run(*indices.back(), facts);
  for (std::size_t axis = 0; axis + 1 < indices.size(); ++axis)
    run = std::min(run, constant_run(*indices[axis], tile.shape().back(), facts));
  return std::min(run, power_of_two_part(tile.shape().back()));
}

}  // namespace tegula::analysis
