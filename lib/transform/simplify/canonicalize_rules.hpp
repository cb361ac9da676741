// Declares canonicalize's rules by family, for its files only. Each rule examines one op and returns the value that
// replaces it, built before the op, or null. A rule that edits the op in place sets `edited`.
#pragma once

#include "ir/core/builder.hpp"

namespace tegula::transform::rules {

struct RewriteSite {
  ir::Op& op;
  ir::Builder builder;
  bool edited = false;

  explicit RewriteSite(ir::Op& at) : op(at), builder(ir::Builder::before(at)) { builder.set_where(at.where()); }
  [[nodiscard]] ir::Type const& type() const { return op.result()->type(); }
  [[nodiscard]] ir::Value* lhs() const { return op.lhs(); }
  [[nodiscard]] ir::Value* rhs() const { return op.rhs(); }
  [[nodiscard]] ir::Value* operand() const { return op.operand(); }
  ir::Value* number(std::int64_t value) { return builder.constant(ir::make_constant(type().element(), value), type()); }
  ir::Value* same_op(std::vector<ir::Value*> const& operands, ir::Type const& result) {
    return builder.create(op.kind(), op.attributes(), operands, {&result, 1}).result();
  }
};

/// Simplifies constants, integer and float identities, comparisons, selections and conversions.
ir::Value* arithmetic(RewriteSite& site);
/// Simplifies elementwise ops on splats and broadcasts, and splat, broadcast, expand_dims, squeeze, trans, iota,
/// reduce, item, item_at.
ir::Value* shape(RewriteSite& site);
/// Simplifies for, if and require. Returns true if it changed or erased the op.
bool control(ir::Op& op);

}  // namespace tegula::transform::rules
