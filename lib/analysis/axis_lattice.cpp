#include "analysis/axis_lattice.hpp"

#include <algorithm>
#include <numeric>

namespace tegula::analysis {

int fact_axes(ir::Type const& type) { return type.is_tile() ? type.rank() : 1; }
std::int64_t fact_extent(ir::Type const& type, int axis) { return type.is_tile() ? type.shape()[axis] : 1; }

std::int64_t divisor_at(AxisFact const& fact, std::int64_t run) {
  return run % fact.contiguity == 0 ? fact.divisibility : std::gcd(fact.divisibility, std::gcd(run, fact.contiguity));
}

ValueFacts unknown_facts(ir::Type const& type) {
  ValueFacts result;
  result.axes.resize(static_cast<std::size_t>(fact_axes(type)));
  if (!is_float(type.element())) {
    IntegerRange const range = ir::full_range(type.element());
    result.min = range.min;
    result.max = range.max;
  }
  return result;
}

ValueFacts uniform_facts(ir::Type const& type, std::int64_t divisibility, IntegerRange range) {
  ValueFacts result;
  for (int i = 0; i < fact_axes(type); ++i) result.axes.push_back({1, divisibility, fact_extent(type, i)});
  result.min = range.min;
  result.max = range.max;
  return result;
}

ValueFacts join(ValueFacts const& a, ValueFacts const& b) {
  ValueFacts result = a;
  for (std::size_t i = 0; i < a.axes.size(); ++i) {
    AxisFact& fact = result.axes[i];
    fact.contiguity = std::gcd(a.axes[i].contiguity, b.axes[i].contiguity);
    fact.divisibility = std::gcd(divisor_at(a.axes[i], fact.contiguity), divisor_at(b.axes[i], fact.contiguity));
    fact.constancy = std::gcd(a.axes[i].constancy, b.axes[i].constancy);
  }
  result.min = std::min(a.min, b.min);
  result.max = std::max(a.max, b.max);
  return result;
}

ValueFacts facts_in(FactMap const& known, ir::Value const& value) {
  auto const found = known.find(&value);
  return found == known.end() ? unknown_facts(value.type()) : found->second;
}

}  // namespace tegula::analysis
