// Finds the memory behind views.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Returns the buffer, or the mbarriers of all stages, of which a value is a view; the value itself if it is none.
inline Value const& viewed(Value const& value) {
  Value const* whole = &value;
  while (Op const* const view = whole->defined_by<ViewOp>()) whole = view->in("source");
  return *whole;
}

}  // namespace tegula::ir
