#include "transform/tile/forward_stores.hpp"

#include <algorithm>
#include <vector>

#include "analysis/effects.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/rewrite.hpp"
#include "ir/core/walk.hpp"

namespace tegula::transform {
namespace {

using ir::Op;
using ir::Predicate;
using ir::Type;
using ir::Value;

/// Tells whether a scalar load reads the element that a store of one element writes.
bool reads_stored(Op const& load, Op const& store) {
  auto const read = load.all<ir::LoadOp>("offsets"), written = store.all<ir::StoreOp>("offsets");
  return load.operand(0) == store.operand(0) && std::equal(read.begin(), read.end(), written.begin(), written.end());
}

/// Replaces a load by the element of the stored tile, and by the load's pad outside the tensor.
void forward(Op& load, Op const& store) {
  ir::Builder builder = ir::Builder::before(load);
  builder.set_where(load.where());
  Type const mask = Type::scalar(Element::boolean);
  auto const compare = [&](Predicate predicate, Value* a, Value* b) {
    return builder.value(ir::make_op<ir::CompareOp>(predicate), {a, b}, mask);
  };
  Value* inside = nullptr;
  std::int64_t axis = 0;
  for (Value* const at : load.all<ir::LoadOp>("offsets")) {
    Value* const extent = builder.value(ir::make_op<ir::ExtentOp>(axis++), {load.operand(0)}, Type::index());
    Value* const here =
        builder.same(ir::AndOp{}, {compare(Predicate::ge, at, builder.index(0)), compare(Predicate::lt, at, extent)});
    inside = inside == nullptr ? here : builder.same(ir::AndOp{}, {inside, here});
  }
  Type const type = load.result()->type();
  Value* const stored = builder.value(ir::ItemOp{}, {store.in<ir::StoreOp>("tile")}, type);
  Value* const pad = builder.constant(load.as<ir::LoadOp>().pad, type);
  ir::replace(load, builder.value(ir::SelectOp{}, {inside, stored, pad}, type));
}

bool forward_in(ir::Block& block) {
  std::vector<std::pair<Op*, Op const*>> found;  // loads with the stores whose elements they read
  Op const* store = nullptr;                     // of one element, the last op that writes
  for (Op& op : block) {
    if (op.is<ir::LoadOp>() && !op.result()->type().is_tile()) {
      if (store != nullptr && reads_stored(op, *store)) found.emplace_back(&op, store);
    } else if (analysis::EffectSummary const effects = analysis::effects_of(op); effects.writes) {
      bool const one = op.is<ir::StoreOp>() && op.in<ir::StoreOp>("tile")->type().is_tile() &&
                       op.in<ir::StoreOp>("tile")->type().elements() == 1 && op.as<ir::StoreOp>().part.empty();
      store = one ? &op : nullptr;
    }
  }
  for (auto const& [load, from] : found) forward(*load, *from);
  return !found.empty();
}

}  // namespace

PassResult forward_stores(ir::Function& function, PassContext&) {
  bool changed = forward_in(function.body());
  std::vector<Op*> around;
  ir::walk(function, [&](Op& op) {
    if (op.block_count() != 0) around.push_back(&op);
  });
  for (Op* op : around)
    for (int i = 0; i < op->block_count(); ++i) changed = forward_in(op->block(i)) || changed;
  return result_of(changed);
}

}  // namespace tegula::transform
