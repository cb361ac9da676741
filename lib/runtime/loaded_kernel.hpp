// Holds a compiled kernel whose code is loaded on a device.
#pragma once

#include <memory>
#include <span>

#include "runtime/cuda/backend.hpp"
#include "runtime/host/thread_pool.hpp"
#include "tegula/runtime/device.hpp"
#include "tegula/abi/compiled_kernel.hpp"
#include "tegula/abi/loaded_host_kernel.hpp"

namespace tegula::runtime {

/// Holds a loaded kernel, shared by all its launches. Once made only its paces change.
struct LoadedKernel {
  CompiledKernel compiled;
  device where;
  LoadedHostKernel host;                                ///< if where is the host
  std::unique_ptr<host::Pace[]> paces;                  ///< of the phases on the host, which launches measure
  cuda::Function function;                              ///< if where is a CUDA device
  std::int64_t multiprocessors = host_multiprocessors;  ///< that run its CTAs at once; see LaunchOp::multiprocessors
};

/// Joins a host kernel with its code. Throws InternalError if they do not fit one another.
std::shared_ptr<LoadedKernel const> make_loaded(CompiledKernel compiled, LoadedHostKernel host);

/// Loads a kernel on a CUDA device; see cuda::load for errors.
std::shared_ptr<LoadedKernel const> load_on(CompiledKernel compiled, device where);

}  // namespace tegula::runtime
