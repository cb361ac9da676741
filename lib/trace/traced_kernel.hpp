// Holds the contents of a TracedKernel, for the library.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "ir/core/op.hpp"
#include "tegula/trace/traced_kernel.hpp"

namespace tegula::trace {

struct TracedKernel::Impl {
  std::atomic<int> references = 1;
  std::string name;
  location where;
  ir::Module module;
  std::vector<ParameterInfo> parameters;
};

/// Returns the kernel's IR: one kernel function, and the device functions it calls.
inline ir::Module const& module(TracedKernel const& kernel) noexcept { return kernel.impl().module; }

}  // namespace tegula::trace
