#include "transform/staged/dependent_launch.hpp"

#include <functional>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "ir/memory/accesses.hpp"
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

/// Lists the tensors whose elements a tile is computed from, as far as ops without effects lead back.
class Sources {
 public:
  std::set<ir::Value const*> const& of(ir::Value const& tile) {
    if (auto const found = known_.find(&tile); found != known_.end()) return found->second;
    std::set<ir::Value const*> tensors;
    Op const* const op = tile.defining_op();
    if (op != nullptr && op->is<ir::LoadOp>()) {
      tensors.insert(&ir::parameter_behind(*op->in("tensor")));
    } else if (op != nullptr && op->pure() && op->block_count() == 0) {
      for (ir::Value const* operand : op->operands()) tensors.insert(of(*operand).begin(), of(*operand).end());
    }
    return known_[&tile] = std::move(tensors);
  }

 private:
  std::map<ir::Value const*, std::set<ir::Value const*>> known_;
};

/// Tells whether a function adds up products of tiles of different tensors, one of which is repeated: a matrix times a
/// vector, which tensor cores do not compute.
bool multiplies_vectors(ir::Function& function) {
  Sources sources;
  std::set<ir::Value const*> repeated, products;  // tiles that are computed from such ones
  bool found = false;
  ir::walk(function, [&](Op& op) {
    if (op.result_count() != 1 || !op.result()->type().is_tile() || !op.pure()) return;
    auto const from = [&](std::set<ir::Value const*> const& tiles) {
      for (ir::Value const* operand : op.operands())
        if (tiles.count(operand) != 0) return true;
      return false;
    };
    if (op.is<ir::BroadcastOp>() || from(repeated)) repeated.insert(op.result());
    bool const product = (op.is<ir::MulOp>() || op.is<ir::FmaOp>()) && from(repeated) &&
                         !sources.of(*op.lhs()).empty() && !sources.of(*op.rhs()).empty() &&
                         sources.of(*op.lhs()) != sources.of(*op.rhs());
    if (product || from(products)) products.insert(op.result());
    found = found || (op.is<ir::ReduceOp>() && op.as<ir::ReduceOp>().combine == ir::Combine::sum && from(products));
  });
  return found;
}

/// Moves the scalars that say where loads of the body begin ahead of `first`.
void raise_offsets(ir::Function& function, Op& first) {
  std::set<Op*> after;
  bool reached = false;
  for (Op& op : function.body()) {
    reached = reached || &op == &first;
    if (reached) after.insert(&op);
  }
  std::set<Op*> needed;
  std::function<bool(ir::Value const&)> const collect = [&](ir::Value const& value) {
    Op* const op = value.defining_op();
    if (op == nullptr || after.count(op) == 0) return true;
    if (!op->pure() || op->block_count() != 0) return false;
    for (ir::Value const* operand : op->operands())
      if (!collect(*operand)) return false;
    needed.insert(op);
    return true;
  };
  for (Op* op : after)
    if (op->is<ir::LoadOp>())
      for (ir::Value const* offset : op->all<ir::LoadOp>("offsets")) (void)collect(*offset);
  std::vector<Op*> moved;
  for (Op& op : function.body())
    if (needed.count(&op) != 0) moved.push_back(&op);
  for (Op* op : moved) op->move_before(first);
}

}  // namespace

PassResult dependent_launch(ir::Function& function, PassContext& context) {
  if (!function.is_kernel() || !context.target.has(Ability::dependent_launch)) return PassResult::unchanged;
  bool const vectors = !has_products_or_copies(function);
  if (vectors && !multiplies_vectors(function)) return PassResult::unchanged;
  Op* first = nullptr;
  for (Op& op : function.body()) {
    if (op.is<ir::LaunchDependentsOp>() || op.is<ir::WaitDependenciesOp>()) return PassResult::unchanged;
    if (first == nullptr && touches_global(op)) first = &op;
  }
  if (first == nullptr) return PassResult::unchanged;
  if (vectors) raise_offsets(function, *first);
  ir::Builder before = ir::Builder::before(*first);
  // CTAs that start early take the room that running ones leave, which is not evenly spread: they wait for one kernel
  // alone. Products with a vector fetch their matrix meanwhile.
  if (vectors) before.op(ir::LaunchDependentsOp{}, {}, {});
  before.op(ir::WaitDependenciesOp{}, {}, {});
  if (!vectors) before.op(ir::LaunchDependentsOp{}, {}, {});
  return PassResult::changed;
}

}  // namespace tegula::transform
