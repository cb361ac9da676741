#include "ir/core/loop.hpp"

#include <algorithm>
#include <utility>

#include "tegula/support/error.hpp"

namespace tegula::ir {

Loop::Loop(Op const& op)
    : first_init_(op.is<ForOp>() ? op.position<ForOp>("inits") : op.position<RepeatOp>("inits")),
      first_argument_(op.is<ForOp>() ? 1 : 0),
      first_yielded_(op.is<ForOp>() ? 0 : 1),
      op_(op.block().parent_op()) {}

std::optional<Loop> Loop::counted_by(Value const& value) {
  Op const* const around = value.owner_block() == nullptr ? nullptr : value.owner_block()->parent_op();
  if (around == nullptr || !around->is<ForOp>() || value.index() != 0) return std::nullopt;
  return Loop(*around);
}

Value* Loop::counter() const {
  (void)op_->as<ForOp>();
  return body().argument(0);
}

Value* Loop::condition() const {
  (void)op_->as<RepeatOp>();
  return yield().operand(0);
}

int Loop::carry_of(Value const& value) const {
  return value.owner_block() == &body() ? std::max(value.index() - first_argument_, -1) : -1;
}

int Loop::carry_of(Use const& use) const {
  if (use.user == op_) return std::max(use.index - first_init_, -1);
  return use.user == &yield() ? std::max(use.index - first_yielded_, -1) : -1;
}

Value* Loop::add_carry(Value* init, std::string name) const {
  op_->add_operand(init);
  op_->add_result(init->type());
  return body().add_argument(init->type(), std::move(name));
}

void Loop::remove_carry(int k) const {
  yield().erase_operand(first_yielded_ + k);
  body().erase_argument(first_argument_ + k);
  op_->erase_operand(first_init_ + k);
  op_->erase_result(k);
}

Op* loop_around(Block const& block) {
  Op* at = block.parent_op();
  while (at != nullptr && !at->is<ForOp>()) at = at->parent_op();
  return at;
}

}  // namespace tegula::ir
