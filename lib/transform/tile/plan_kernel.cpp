#include "transform/tile/plan_kernel.hpp"

#include "ir/core/walk.hpp"
#include "transform/common/kernel_plan.hpp"

namespace tegula::transform {

PassResult plan_kernel(ir::Function& function, PassContext& context) {
  if (!function.is_kernel()) return PassResult::unchanged;
  std::vector<ir::Op*> dots;
  ir::walk(function, [&](ir::Op& op) {
    if (op.is<ir::DotOp>() && op.as<ir::DotOp>().path == ir::ProductPath::open) dots.push_back(&op);
  });
  if (dots.empty() && function.warps != 0) return PassResult::unchanged;
  KernelPlan const plan = plan_of(function, dots, context.options, context.target);
  for (std::size_t i = 0; i < dots.size(); ++i) {
    ProductPlan const& product = plan.products[i];
    auto& dot = dots[i]->as<ir::DotOp>();
    dot.path = product.path;
    dot.swapped = product.swapped;
    dot.start = product.start;
    dot.late = product.late;
    dot.left = product.left;
    dot.right = product.right;
    dot.step = product.step;
    dot.why = Symbol(product.why.data());
    if (product.grid.rows != 0) dot.warps = {product.grid.rows, product.grid.columns};
    if (product.grid.copies > 1) dot.warps.push_back(product.grid.copies);
  }
  function.warps = plan.warps;
  function.plan = to_string(plan);
  return PassResult::changed;
}

}  // namespace tegula::transform
