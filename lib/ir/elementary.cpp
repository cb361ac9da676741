#include "ir/elementary.hpp"

namespace tegula::ir {

bool is_expanded(OpInfo const& op) { return op.family == Family::elementwise && !op.runs(on_host); }

bool is_function(Op const& op) {
  bool const costly = is_expanded(op.info()) || op.is<SqrtOp>() || op.is<DivOp>();
  return costly && is_float(op.result()->type().element());
}

}  // namespace tegula::ir
