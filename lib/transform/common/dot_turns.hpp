// Tells which products of a loop wait for others, and for arithmetic, and starts them early.
#pragma once

#include <map>

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Tells whether an op only serves factors: a load or copy, a conversion or another form of a factor, a number of an
/// address.
bool serves_factors(ir::Op const& op);

/// Tells whether a factor follows from arithmetic of tiles in this block.
bool is_computed(ir::Value const& factor, ir::Block const& block);

/// Returns the turn of each product of a block: how many others have to be done before it, one after the other.
using ProductTurns = std::map<ir::Op const*, int>;
ProductTurns turns_of(ir::Block const& block);

/// Moves the products of a block, in their order, to where their `start` says, with the ops that only give their
/// factors. One stays after the arithmetic of tiles that it needs, and after those before it that could start no
/// later.
void raise_products(ir::Block& block);

}  // namespace tegula::transform
