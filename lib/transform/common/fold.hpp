// Folds constants with the exact meaning of the ops (include/tegula/ir/ops/arith.hpp).
#pragma once

#include <optional>
#include <span>

#include "ir/core/builder.hpp"
#include "ir/values/constant_of.hpp"

namespace tegula::transform {

/// Computes the value of an elementwise op on constants; `result` is the element of its result. Returns nothing for:
/// - ops that are not elementwise,
/// - elementary functions, whose value is each target's own,
/// - NaN results, whose bits differ between targets.
std::optional<ir::Constant> fold(ir::Op const& op, std::span<ir::Constant const> operands, Element result);

}  // namespace tegula::transform
