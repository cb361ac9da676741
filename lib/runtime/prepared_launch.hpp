// A launch whose arguments are checked and packed: running it again allocates, hashes and looks up nothing.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/loaded_kernel.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/stream.hpp"
#include "tegula/support/location.hpp"

namespace tegula::runtime {

/// Immutable; may run on several threads and streams at once. Holds the kernel's code and names the buffers it uses
/// without keeping their memory: a freed one is a UserError at the next run.
class PreparedLaunch {
 public:
  /// Checks everything that a launch checks (see check_arguments, check_requirements, grid and sizes) and packs the
  /// argument slots. Throws UserError. `require_sites`: see check_requirements.
  PreparedLaunch(std::shared_ptr<LoadedKernel const> kernel, std::span<Argument const> arguments,
                 GridOverride const& grid = {}, std::span<location const> require_sites = {});
  ~PreparedLaunch();
  PreparedLaunch(PreparedLaunch const&) = delete;
  PreparedLaunch& operator=(PreparedLaunch const&) = delete;

  /// Runs on a stream of the kernel's device. A grid with an extent of 0 runs nothing.
  void run(stream const& order) const;

  [[nodiscard]] std::int64_t grid(int axis) const { return grid_[axis]; }
  [[nodiscard]] LoadedKernel const& kernel() const { return *kernel_; }

 private:
  void size_host_launch(std::span<std::int64_t const> values);
  void check_cuda_grid() const;
  void pack(std::span<Argument const> arguments);

  std::shared_ptr<LoadedKernel const> kernel_;
  std::int64_t grid_[3] = {1, 1, 1};
  bool nothing_to_do_ = false;
  std::vector<std::int64_t> slots_;
  std::vector<void*> slot_addresses_;       ///< CUDA: one per slot
  std::vector<std::int64_t> phase_blocks_;  ///< host: linear blocks of each phase
  std::int64_t workspace_bytes_ = 0;        ///< host
  std::vector<detail::Handle<detail::Allocation>> buffers_;
};

}  // namespace tegula::runtime
