#include "transform/staged/dependent_launch.hpp"

#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "transform/common/whole_kernels.hpp"

namespace tegula::transform {
namespace {

using ir::Op;

bool touches_global(Op& op) {
  auto const global = [](Op const& at) {
    ir::Effects const& effects = at.info().effects;
    return effects.reads(ir::Space::global) || effects.writes(ir::Space::global);
  };
  bool found = global(op) || op.is<ir::CallOp>();
  for (int b = 0; b < op.block_count() && !found; ++b)
    ir::walk(op.block(b), [&](Op& inner) { found = found || global(inner); });
  return found;
}

}  // namespace

PassResult dependent_launch(ir::Function& function, AnalysisCache&, PassContext& context) {
  if (!function.is_kernel() || !context.target.has(Ability::dependent_launch) || !has_products_or_copies(function))
    return PassResult::unchanged;
  Op* first = nullptr;
  for (Op& op : function.body()) {
    if (op.is<ir::LaunchDependentsOp>() || op.is<ir::WaitDependenciesOp>()) return PassResult::unchanged;
    if (first == nullptr && touches_global(op)) first = &op;
  }
  if (first == nullptr) return PassResult::unchanged;
  ir::Builder before = ir::Builder::before(*first);
  before.op(ir::LaunchDependentsOp{}, {}, {});
  before.op(ir::WaitDependenciesOp{}, {}, {});
  return PassResult::changed;
}

}  // namespace tegula::transform
