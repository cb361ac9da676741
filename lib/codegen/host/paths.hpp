// States how host code does each load, store and product, for other parts. Private to this folder.
#pragma once

#include <string>

#include "ir/core/op.hpp"
#include "tegula/abi/kernel_paths.hpp"

namespace tegula::codegen::host {

/// Holds the elements that an access moves at once, and why not more.
struct AccessWidth {
  int lanes = 1;
  std::string reason;
};

/// Adds the row of a load, store, gather, scatter or atomic. `paths` null: nobody asks.
void record_access(KernelPaths* paths, ir::Op const& op, AccessWidth const& width);

/// Adds the row of a product.
void record_product(KernelPaths* paths, ir::Op const& dot, Path path, std::string reason);

}  // namespace tegula::codegen::host
