// Runs a loaded host kernel: its phases in order, the blocks of each on the thread pool.
#pragma once

#include <cstdint>
#include <span>

#include "runtime/host/thread_pool.hpp"
#include "tegula/abi/loaded_host_kernel.hpp"

namespace tegula::runtime::host {

/// Runs all phases: `blocks` holds the number of linear blocks of each; a phase of 0 blocks does nothing. Returns when
/// all blocks have ended. `paces`: one for each phase, or none. Safe to call from several threads at once.
void run(LoadedHostKernel const& kernel, std::span<std::int64_t const> blocks, std::int64_t const* slots,
         std::int64_t workspace_bytes, std::int64_t scratch_bytes, std::span<Pace> paces = {});

}  // namespace tegula::runtime::host
