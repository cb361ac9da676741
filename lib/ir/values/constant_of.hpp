// Finds the constants behind values.
#pragma once

#include <optional>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Returns the constant that a value is: a scalar constant, a tile constant, or a splat or broadcast of one.
std::optional<Constant> constant_of(Value const& value);

/// True if that constant equals a number; zeros of both signs do.
bool is_constant(Value const& value, double number);

/// True if a value is a constant of zeros to which a sum may be added without a change: of floats +0. -0 is not:
/// -0 + -0 is -0.
bool is_zero(Value const& value);

}  // namespace tegula::ir
