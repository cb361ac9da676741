#include "transform/laid_out/share_atomic_results.hpp"

#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"
#include "layout/layout.hpp"
#include "layout/shared_layouts.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Type;
using ir::Value;
using layout::Layout;

/// Tells whether some thread holds an element that another one owns.
bool is_replicated(Layout const& layout) {
  for (int warp = 0; warp < layout.warps(); ++warp)
    for (int lane = 0; lane < layout.lanes(); ++lane)
      if (!layout.owner(0, lane, warp)) return true;
  return false;
}

/// Replaces the scalars that an atomic takes by tiles of one element, and returns the atomic of these.
Op& of_one_element(Op& op, int warps) {
  Layout const* const layout = Layout::blocked({1}, {1}, {warp_lanes}, {warps}, {0}, 1);
  ir::Builder builder = ir::Builder::before(op);
  builder.set_where(op.where());
  Type const tile = Type::tile(op.result()->type().element(), {1}, layout);
  std::vector<Value*> operands(op.operands().begin(), op.operands().end());
  for (int i = 1; i < op.position("indices"); ++i)
    operands[static_cast<std::size_t>(i)] = builder.value(ir::SplatOp{}, {op.operand(i)}, tile);
  return builder.create(op.kind(), op.attributes(), operands, std::vector<Type>{tile});
}

/// Returns the value that all threads have after the owners have written theirs to shared memory.
Value* shared(Op& owners, Type const& wanted) {
  Type const& tile = owners.result()->type();
  ir::Builder outside = ir::Builder::before(owners.function()->body().front());
  outside.set_where(owners.where());
  Value* const buffer = outside.value(ir::BufferAllocOp{}, {},
                                      Type::shared(tile.element(), tile.shape(), layout::dense_layout(tile.shape())));
  ir::Builder builder = ir::Builder::after(owners);
  builder.set_where(owners.where());
  builder.op(ir::BufferStoreOp{}, {buffer, owners.result()}, {});
  return builder.value(ir::BufferLoadOp{}, {buffer}, wanted);
}

bool share(Op& op, int warps) {
  bool const used = !op.result()->uses().empty();
  Type const wanted = op.result()->type();
  if (wanted.is_tile() && (!used || !is_replicated(*wanted.layout()))) return false;
  if (wanted.is_tile()) {
    if (op.result()->uses().size() == 1 && op.result()->uses()[0].user->is<ir::BufferStoreOp>()) return false;
    ir::replace_uses(*op.result(), [&] { return shared(op, wanted); });
    return true;
  }
  Op& owners = of_one_element(op, warps);
  if (used)
    ir::replace(op, shared(owners, wanted));
  else
    op.erase();
  return true;
}

}  // namespace

PassResult share_atomic_results(ir::Function& function, PassContext&) {
  std::vector<Op*> atomics;
  ir::walk(function, [&](Op& op) {
    if (op.is<ir::AtomicUpdateOp>() || op.is<ir::CompareExchangeOp>()) atomics.push_back(&op);
  });
  bool changed = false;
  for (Op* op : atomics) changed = share(*op, function.warps) || changed;
  return result_of(changed);
}

}  // namespace tegula::transform
