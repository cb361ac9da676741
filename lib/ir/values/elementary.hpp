// Tells the elementary functions from other arithmetic.
#pragma once

#include <cstdint>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// True for an elementwise op that hosts do not compute, but by the arithmetic that expand-math makes of it: the
/// expanded rows of tegula/math/elementary.def.
bool is_expanded(OpInfo const& op);

/// True for a function, root or quotient of floats, which no target computes in one pass of its arithmetic units.
bool is_function(Op const& op);

/// Says how a GPU computes a function of elements of at most 32 bits; see tegula/math/elementary.def.
enum class DeviceFormula : std::uint8_t { exact, expansion, units, native, coarse };
DeviceFormula device_formula(OpKind kind);

}  // namespace tegula::ir
