// Holds the lattice of AxisFacts: the weakest facts, facts of equal elements, and the facts that hold on both of two
// ways. Rules of ops stand in axis_transfer.hpp.
#pragma once

#include <unordered_map>

#include "analysis/axis_facts.hpp"
#include "ir/values/integer_range.hpp"

namespace tegula::analysis {

using ir::IntegerRange;

/// Counts the axes of facts: one for a scalar.
int fact_axes(ir::Type const& type);
std::int64_t fact_extent(ir::Type const& type, int axis);

/// Returns a divisor of the values at positions that are multiples of `run`.
std::int64_t divisor_at(AxisFact const& fact, std::int64_t run);

/// Returns the weakest facts of a value of that type.
ValueFacts unknown_facts(ir::Type const& type);

/// Returns facts of a value whose elements are equal.
ValueFacts uniform_facts(ir::Type const& type, std::int64_t divisibility, IntegerRange range);

/// Returns the strongest facts that follow from either of two.
ValueFacts join(ValueFacts const& a, ValueFacts const& b);

/// Maps values to their facts; values that are not in it have the weakest.
using FactMap = std::unordered_map<ir::Value const*, ValueFacts>;
ValueFacts facts_in(FactMap const& known, ir::Value const& value);

}  // namespace tegula::analysis
