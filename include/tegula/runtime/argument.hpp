// Describes one argument of a launch without its type. Templates of the launcher fill it; users do not.
#pragma once

#include <cstdint>

#include "tegula/runtime/buffer.hpp"
#include "tegula/runtime/device.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula {

/// Holds a tensor or scalar handed to a kernel.
struct Argument {
  ParameterKind kind = ParameterKind::tensor;
  Element element = Element::f32;
  bool read_only = false;               ///< a view of const elements: not allowed as an output
  DeviceKind space = DeviceKind::host;  ///< memory of a tensor
  int device_number = -1;               ///< number of the CUDA device, if known; -1 is taken as the stream's
  int rank = 0;
  void* address = nullptr;
  std::int64_t extents[max_rank] = {};
  std::int64_t strides[max_rank] = {};       ///< in elements
  std::int64_t scalar = 0;                   ///< value in the low bytes, integers sign-extended
  detail::Allocation* allocation = nullptr;  ///< the buffer it came from, if any

  bool operator==(Argument const&) const = default;
};

/// Holds the grid given in `launch`, in place of the kernel's own.
struct GridOverride {
  bool given = false;
  std::int64_t extents[3] = {1, 1, 1};
  int rank = 3;  ///< number of extents that were given
};

}  // namespace tegula
