#include "ir/values/elementary.hpp"

namespace tegula::ir {

bool is_expanded(OpInfo const& op) { return op.family == Family::elementwise && !op.runs(on_host); }

bool is_function(Op const& op) {
  bool const costly = is_expanded(op.info()) || op.is<SqrtOp>() || op.is<DivOp>();
  return costly && is_float(op.result()->type().element());
}

DeviceFormula device_formula(OpKind kind) {
#define TEGULA_EXPANDED(struct_name, name, device, ...) \
  if (kind == OpKind::struct_name) return DeviceFormula::device;
#define TEGULA_EXPANDED_2(struct_name, ...) \
  if (kind == OpKind::struct_name) return DeviceFormula::expansion;
#include "tegula/math/elementary.def"
  return DeviceFormula::exact;
}

}  // namespace tegula::ir
