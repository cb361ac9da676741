#include "ir/verify/verify_buffers.hpp"

#include <set>

#include "ir/core/families.hpp"
#include "ir/core/loop.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"

namespace tegula::ir {
namespace {

using Values = std::set<Value const*>;

/// Adds the values that stand for the same buffer: views of it, and values that loops and branches pass on.
void add_aliases(Value const& value, Values& into) {
  if (!value.type().is_buffer() && !value.type().is_mbarrier()) return;
  if (!into.insert(&value).second) return;
  for (Use const& use : value.uses()) {
    Op const& user = *use.user;
    if (user.is<ViewOp>() || user.is<TransViewOp>()) {
      add_aliases(*user.result(), into);
      continue;
    }
    Op const* const around = user.is<YieldOp>() ? user.parent_op() : &user;
    if (around != nullptr && is_loop(*around)) {
      Loop const loop(*around);
      if (int const k = loop.carry_of(use); k >= 0) {
        add_aliases(*loop.carried(k), into);
        add_aliases(*loop.result(k), into);
      }
    } else if (around != nullptr && around->is<IfOp>() && user.is<YieldOp>()) {
      add_aliases(*around->result(use.index), into);
    }
  }
}

bool uses_any_of(Op const& op, Values const& values) {
  for (Value const* operand : op.operands())
    if (values.count(operand) != 0) return true;
  return false;
}

/// Finds the first op after `dealloc` that uses one of the values, in its block or in one inside.
Op const* use_behind(Op const& dealloc, Values const& values) {
  bool after = false;
  Op const* found = nullptr;
  for (Op& op : *dealloc.parent()) {
    if (after && found == nullptr && uses_any_of(op, values)) found = &op;
    for (int i = 0; after && i < op.block_count(); ++i)
      walk(op.block(i), [&](Op& inside) {
        if (found == nullptr && uses_any_of(inside, values)) found = &inside;
      });
    after = after || &op == &dealloc;
  }
  return found;
}

}  // namespace

std::vector<BufferError> buffer_errors(Function const& function) {
  std::vector<BufferError> errors;
  walk(function.body(), [&](Op& op) {
    if (!op.is<BufferDeallocOp>()) return;
    Value const& buffer = *op.operand();
    Op const* const alloc = buffer.defined_by<BufferAllocOp>();
    if (alloc == nullptr || alloc->parent() != op.parent()) {
      errors.push_back({&op, to_string(buffer) + " is not the result of a buffer_alloc of this block; deallocate the " +
                                 "whole buffer, in the block that allocates it"});
      return;
    }
    Values aliases;
    add_aliases(buffer, aliases);
    if (Op const* const use = use_behind(op, aliases))
      errors.push_back({use, use->is<BufferDeallocOp>() ? to_string(buffer) + " is deallocated already"
                                                        : to_string(buffer) + " is used after its buffer_dealloc"});
  });
  return errors;
}

}  // namespace tegula::ir
