// Computes counts, ranks and elements at places on whole tiles, for the tile executor and the warps.
#pragma once

#include "sim/meaning.hpp"

namespace tegula::sim {

/// Computes the result of an op of ir/ops/places.hpp from its operands, in their order, as whole tiles. `result` is a
/// whole tile too. Throws UserError where places of a put do not name each place once.
void compute(ir::Op const& op, ir::HistogramOp const&, std::vector<Value> const& operands, Value& result);
void compute(ir::Op const& op, ir::RanksOp const&, std::vector<Value> const& operands, Value& result);
void compute(ir::Op const& op, ir::TakeOp const&, std::vector<Value> const& operands, Value& result);
void compute(ir::Op const& op, ir::PutOp const&, std::vector<Value> const& operands, Value& result);

}  // namespace tegula::sim
