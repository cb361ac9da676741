#include "transform/laid_out/share_items.hpp"

#include <vector>

#include "analysis/uniformity.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "layout/shared_layouts.hpp"

namespace tegula::transform {

using ir::Op;
using ir::Type;
using ir::Value;

PassResult share_items(ir::Function& function, PassContext& context) {
  std::vector<Op*> items;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::ItemOp>()) items.push_back(&op);
  });
  if (items.empty()) return PassResult::unchanged;
  bool changed = false;
  for (Op* item : items) {
    analysis::Uniformity const& uniformity = context.analyses.uniformity();
    if (!uniformity.divergent(*item->operand()) || !uniformity.is_uniform(*item->parent())) continue;
    Type const& tile = item->operand()->type();
    ir::Builder outside = ir::Builder::before(function.body().front());
    outside.set_where(item->where());
    Value* const buffer = outside.value(ir::BufferAllocOp{}, {},
                                        Type::shared(tile.element(), tile.shape(), layout::dense_layout(tile.shape())));
    ir::Builder builder = ir::Builder::before(*item);
    builder.set_where(item->where());
    builder.op(ir::BufferStoreOp{}, {buffer, item->operand()}, {});
    ir::replace(*item, builder.value(ir::BufferLoadOp{}, {buffer}, item->result()->type()));
    context.analyses.clear();  // a scalar that is shared makes those after it uniform
    changed = true;
  }
  return result_of(changed);
}

}  // namespace tegula::transform
