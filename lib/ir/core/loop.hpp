// Names the parts of a loop: its bounds, its counter, and the values that it carries.
#pragma once

#include <optional>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Views a `for` or a `repeat`. Loop-carried value k is init(k) before the loop, carried(k) and yielded(k) at the two
/// ends of an iteration, and result(k) after the loop. Only a `for` has bounds, a step and a counter; only a `repeat`
/// has a condition.
class Loop {
 public:
  /// `op` is a for or a repeat: InternalError otherwise.
  explicit Loop(Op const& op);
  /// Finds the for that counts with this value, if one does.
  static std::optional<Loop> counted_by(Value const& value);

  [[nodiscard]] Op& op() const { return *op_; }
  [[nodiscard]] Block& body() const { return op_->block(); }
  [[nodiscard]] Op& yield() const { return body().back(); }

  [[nodiscard]] Value* lower() const { return op_->in<ForOp>("lower"); }
  [[nodiscard]] Value* upper() const { return op_->in<ForOp>("upper"); }
  [[nodiscard]] Value* step() const { return op_->in<ForOp>("step"); }
  /// Returns the i64 that counts from lower to upper; an argument of the body.
  [[nodiscard]] Value* counter() const;

  /// Returns the bool that a repeat yields: true for another iteration.
  [[nodiscard]] Value* condition() const;

  /// Counts the carried values.
  [[nodiscard]] int count() const { return op_->result_count(); }
  [[nodiscard]] Value* init(int k) const { return op_->operand(first_init_ + k); }
  [[nodiscard]] Value* carried(int k) const { return body().argument(first_argument_ + k); }
  /// Returns the position of carried(0) among the arguments of the body.
  [[nodiscard]] int first_argument() const { return first_argument_; }
  [[nodiscard]] Value* yielded(int k) const { return yield().operand(first_yielded_ + k); }
  [[nodiscard]] Value* result(int k) const { return op_->result(k); }
  [[nodiscard]] std::span<Value* const> inits() const { return op_->operands().subspan(index(first_init_)); }
  [[nodiscard]] std::span<Value* const> all_yielded() const {
    return yield().operands().subspan(index(first_yielded_));
  }

  /// Returns the use of init(k) by the loop, and of yielded(k) by its yield.
  [[nodiscard]] Use init_use(int k) const { return {op_, first_init_ + k}; }
  [[nodiscard]] Use yield_use(int k) const { return {&yield(), first_yielded_ + k}; }
  void set_init(int k, Value* value) const { op_->set_operand(first_init_ + k, value); }

  /// Returns the k whose carried(k) is `value`; -1: it is not an argument of the body, or it is the counter.
  [[nodiscard]] int carry_of(Value const& value) const;
  /// Returns the k whose init is this use by the loop, or whose yielded value is this use by its yield; else -1.
  [[nodiscard]] int carry_of(Use const& use) const;

  /// Adds a carried value and returns its argument in the body. The caller yields the next value.
  Value* add_carry(Value* init, std::string name = {}) const;
  /// Removes carried value k. result(k) must be unused, carried(k) too but for being yielded as value k.
  void remove_carry(int k) const;

 private:
  static std::size_t index(int i) { return static_cast<std::size_t>(i); }

  int first_init_;
  int first_argument_;
  int first_yielded_;
  Op* op_;  ///< last: the positions are taken first, which checks the kind
};

/// Finds the innermost `for` around a block; null: none.
Op* loop_around(Block const& block);

}  // namespace tegula::ir
