// Finds the function that a call names.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Returns the callee; null if the module has none of that name, or if the call stands in no module.
inline Function const* callee_of(Op const& call) {
  Function const* const caller = call.function();
  return caller == nullptr || caller->parent() == nullptr ? nullptr
                                                          : caller->parent()->find(call.as<CallOp>().callee.view());
}

}  // namespace tegula::ir
