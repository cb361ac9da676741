// Tells how many bits of a float reach memory or another computation.
#pragma once

namespace tegula::ir {

class Value;

/// Tells whether every use of a float rounds it to a float of 16 bits or fewer. Products, quotients, signs, selections,
/// other layouts, and sums that cannot cancel may stand between: they keep its relative error.
bool only_16_bits_kept(Value const& value);

}  // namespace tegula::ir
