// Describes how the host hands each tensor to a kernel: through which descriptors, or by pointer and why.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tegula/abi/compiled_kernel.hpp"

namespace tegula {

/// Describes one descriptor (tensor map) that the host makes at a launch.
struct DescriptorPlan {
  TensorMapInfo map;  ///< parameter, box and swizzle
  int equal_to = -1;  ///< number of an earlier descriptor of the same launch with equal contents; encoded once
  friend bool operator==(DescriptorPlan const&, DescriptorPlan const&) = default;
};

/// Describes one argument of a kernel.
struct ArgumentPlan {
  std::string name;              ///< in the IR: "in0"
  ParameterInfo type;            ///< element, rank, and the facts that the code uses
  Extents extents;               ///< at a launch; else empty
  Extents strides;               ///< in elements; at a launch
  std::vector<int> descriptors;  ///< numbers in HostPlan::descriptors
  std::vector<std::string>
      pointer;  ///< why the code also, or only, takes the address; empty: it takes it by descriptor
  friend bool operator==(ArgumentPlan const&, ArgumentPlan const&) = default;
};

/// Lists the ways from tensors to a kernel: tensor, descriptor, kernel. `facts(k).plan` holds it for a GPU before any
/// launch, and explain() prints it for one launch.
struct HostPlan {
  std::string kernel;
  std::vector<ArgumentPlan> arguments;
  std::vector<DescriptorPlan> descriptors;
  /// Returns a line for each argument, and below it one for each way to the kernel; indented by so many blanks.
  [[nodiscard]] std::string str(int indent = 0) const;
  friend bool operator==(HostPlan const&, HostPlan const&) = default;
};

}  // namespace tegula
