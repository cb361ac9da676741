#include "ir/elementary.hpp"

namespace tegula::ir {

bool is_function(Op const& op) {
  switch (op.kind()) {
#define TEGULA_EXACT(name, ...)
#define TEGULA_EXPANDED(name, ...) case OpKind::name:
#define TEGULA_EXPANDED_2(name, ...) case OpKind::name:
#include "tegula/math/elementary.def"
    case OpKind::SqrtOp:
    case OpKind::DivOp:
      return is_float(op.result()->type().element());
    default:
      return false;
  }
}

}  // namespace tegula::ir
