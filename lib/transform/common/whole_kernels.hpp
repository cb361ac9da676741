// Tells which kernels passes rewrite as a whole, so that no call may be left in them.
#pragma once

#include <algorithm>

#include "ir/core/pipelines.hpp"
#include "tegula/abi/compile_options.hpp"

namespace tegula::transform {

/// Passes split loops with products or copies, skew them and assign them to warps; a call would hide reads and
/// releases.
using ir::has_products_or_copies;

inline bool has_products_or_copies(ir::Module const& module) {
  return std::any_of(module.functions().begin(), module.functions().end(),
                     [](auto const& function) { return has_products_or_copies(*function); });
}

}  // namespace tegula::transform
