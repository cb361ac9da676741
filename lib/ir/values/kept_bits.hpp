// Tells how many bits of a float reach memory or another computation.
#pragma once

#include <optional>

namespace tegula::ir {

class Op;
class Value;

/// Tells whether a float is at least 0, by the ops that compute it. It may be NaN.
bool is_at_least_zero(Value const& value);

/// Describes a sum of a float that is never negative and a constant between 2^-100 and 2^100: nothing below 2^-126
/// changes it. The float may be a product that is not rounded.
struct RaisedSum {
  Value* raised = nullptr;
  Value* factor = nullptr;  ///< by which an fma multiplies `raised`; null: an addition
  double constant = 0;
};
/// Finds the parts of such a sum of f32.
std::optional<RaisedSum> raised_sum(Op const& op);

/// Tells whether every use of a float adds it to such a constant.
bool only_raised(Value const& value);

/// Tells whether a float is a share of its row: exp(x - max(x)), which is only summed along the axis of the maximum,
/// and divided by that sum. The sum is at least 1, so a power below 2^-126 is a share below that.
bool is_share_of_row(Value const& value);

/// Tells whether every use of a float rounds it to a float of 16 bits or fewer, or is fast_tanh. Products, quotients,
/// roots, signs, selections, branches, broadcasts, and sums that cannot cancel may stand between: they keep its
/// relative error.
bool only_16_bits_kept(Value const& value);

/// Tells the same of a float that may also be in the argument of an exponential of which 16 bits are kept. An error of
/// 2^-22 in an argument of at most 128 is one of 2^-15 in the exponential.
bool only_16_bits_of_argument_kept(Value const& value);

}  // namespace tegula::ir
