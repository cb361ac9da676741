#include "transform/simplify/prove_offsets.hpp"

#include <utility>
#include <vector>

#include "ir/core/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;

/// Returns the attribute of a load or store; null for other ops.
Extents* nonnegative_of(Op& op) {
  if (op.is<ir::LoadOp>()) return &op.as<ir::LoadOp>().nonnegative;
  return op.is<ir::StoreOp>() ? &op.as<ir::StoreOp>().nonnegative : nullptr;
}

}  // namespace

PassResult prove_offsets(ir::Function& function, PassContext& context) {
  bool changed = false;
  ir::walk(function, [&](Op& op) {
    Extents* const stated = nonnegative_of(op);
    if (stated == nullptr) return;
    Extents proven;
    auto const offsets = op.all("offsets");
    for (std::size_t axis = 0; axis < offsets.size(); ++axis)
      if (context.analyses.axis_facts().facts(*offsets[axis]).min >= 0)
        proven.push_back(static_cast<std::int64_t>(axis));
    changed = changed || *stated != proven;
    *stated = proven;
  });
  return result_of(changed);
}

}  // namespace tegula::transform
