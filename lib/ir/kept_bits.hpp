// Tells how many bits of a float reach memory or another computation.
#pragma once

namespace tegula::ir {

class Value;

/// Tells whether every use of a float rounds it to a float of 16 bits or fewer. Products, signs, selections and other
/// layouts on the way keep its relative error; sums do not.
bool only_16_bits_kept(Value const& value);

}  // namespace tegula::ir
