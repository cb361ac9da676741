// Tensor maps: the 128-byte descriptors that TMA copies take by value. The type is here so that argument slots have
// their place; encoding from view, box and swizzle comes with the first kernel that uses TMA.
#pragma once

#include <cstddef>

namespace tegula::runtime::cuda {

/// Opaque to all but the driver. Passed by value as one grid_constant kernel parameter.
struct alignas(128) TensorMap {
  std::byte bytes[128];
};

}  // namespace tegula::runtime::cuda
