#include "runtime/host/run.hpp"

#include "runtime/host/thread_pool.hpp"
#include "runtime/host/workspace.hpp"

namespace tegula::runtime::host {

void run(LoadedHostKernel const& kernel, std::span<std::int64_t const> blocks, std::int64_t const* slots,
         std::int64_t workspace_bytes, std::int64_t scratch_bytes) {
  Workspace const workspace(workspace_bytes);
  for (std::size_t phase = 0; phase < blocks.size(); ++phase) {
    HostEntryFunction const entry = kernel.entries[phase];
    parallel_for(blocks[phase], [&](std::int64_t first, std::int64_t last) {
      Scratch const scratch(scratch_bytes);
      entry(slots, first, last, workspace.get(), scratch.get());
    });
  }
}

}  // namespace tegula::runtime::host
