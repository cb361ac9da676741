// Computes the facts of an op's result from those of its operands: the rules of AxisFacts, op by op.
#pragma once

#include "analysis/axis_lattice.hpp"

namespace tegula::analysis {

/// Returns the facts of the only result of an op without regions or calls; its element is an integer or boolean.
ValueFacts transfer(ir::Op const& op, FactMap const& known);

}  // namespace tegula::analysis
