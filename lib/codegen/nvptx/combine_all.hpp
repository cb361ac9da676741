// Combines the registers of a reduction within a thread.
#pragma once

#include <utility>

#include "codegen/nvptx/emitter.hpp"

namespace tegula::codegen::nvptx {

/// Combines by the balanced tree: adjacent pairs first, an odd last one carried up.
inline llvm::Value* combine_all(Emitter& e, ir::Combine operation, Element element, Registers values) {
  while (values.size() > 1) {
    Registers next;
    for (std::size_t i = 0; i + 1 < values.size(); i += 2)
      next.push_back(e.combine(operation, element, values[i], values[i + 1]));
    if (values.size() % 2 != 0) next.push_back(values.back());
    values = std::move(next);
  }
  return values[0];
}

}  // namespace tegula::codegen::nvptx
