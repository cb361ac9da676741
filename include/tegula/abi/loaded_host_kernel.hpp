// Holds host code that is ready to run: the loader of host objects hands it to the runtime. Not part of the umbrella
// header.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace tegula {

/// Runs the linear blocks [first, last) of one phase; see HostPhase for the meaning of the arguments.
using HostEntryFunction = void (*)(std::int64_t const* slots, std::int64_t first, std::int64_t last, void* workspace,
                                   void* scratch);

/// Holds one function per HostPhase of the CompiledKernel, in the same order. The code stays mapped while keep_alive
/// lives.
struct LoadedHostKernel {
  std::vector<HostEntryFunction> entries;
  std::shared_ptr<void> keep_alive;
  std::byte* profile = nullptr;  ///< the buffer of CompiledKernel::profile; null: it records nothing
};

}  // namespace tegula
