// Holds a launch whose arguments are checked and packed: running it again does not allocate, hash or look up anything.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/argument_pack.hpp"
#include "runtime/loaded_kernel.hpp"
#include "tegula/runtime/argument.hpp"
#include "tegula/runtime/stream.hpp"
#include "tegula/support/location.hpp"

namespace tegula::runtime {

/// Counts the blocks of a grid without an extent of 0, launched along one axis. Throws UserError for too many, or for a
/// number that is not a multiple of the cluster.
std::int64_t cuda_blocks(CompiledKernel const& compiled, std::int64_t const (&grid)[3]);

/// Runs a prepared launch, also on several threads and streams at once. Holds the kernel's code and names the buffers
/// it uses without keeping their memory: a freed one is a UserError at the next run. Each run takes parameters, tensor
/// maps among them, by value, also under stream capture.
class PreparedLaunch {
 public:
  /// Checks everything that a launch checks (see check_arguments, check_requirements, grid and sizes) and packs the
  /// argument slots. Throws UserError. `require_sites`: see check_requirements.
  PreparedLaunch(std::shared_ptr<LoadedKernel const> kernel, std::span<Argument const> arguments,
                 GridOverride const& grid = {}, std::span<location const> require_sites = {});
  ~PreparedLaunch();
  PreparedLaunch(PreparedLaunch const&) = delete;
  PreparedLaunch& operator=(PreparedLaunch const&) = delete;

  /// Replaces the arguments by others, checked alike. Encodes only the tensor maps that change. Throws as the
  /// constructor does, and then the launch is unchanged. Not while a run is under way on another thread.
  void rebind(std::span<Argument const> arguments, GridOverride const& grid = {},
              std::span<location const> require_sites = {});

  /// Runs on a stream of the kernel's device. A grid with an extent of 0 does not run anything.
  void run(stream const& order) const;

  /// Returns a buffer of its arguments that has been freed; null: none.
  [[nodiscard]] detail::Allocation const* freed_buffer() const;
  [[nodiscard]] std::int64_t grid(int axis) const { return size_.grid[axis]; }
  [[nodiscard]] LoadedKernel const& kernel() const { return *kernel_; }
  [[nodiscard]] std::shared_ptr<LoadedKernel const> const& shared_kernel() const { return kernel_; }

 private:
  /// Holds the amount of work: the launch program's result for the arguments.
  struct Size {
    std::int64_t grid[3] = {1, 1, 1};
    std::int64_t blocks = 0;                 ///< 0: nothing to do
    std::vector<std::int64_t> phase_blocks;  ///< host: linear blocks of each phase
    std::int64_t workspace_bytes = 0;        ///< host
  };
  [[nodiscard]] Size size_of(std::span<Argument const> arguments, GridOverride const& grid,
                             std::span<location const> require_sites) const;
  void size_phases(std::span<std::int64_t const> values, Size& size) const;

  std::shared_ptr<LoadedKernel const> kernel_;
  Size size_;
  ArgumentPack pack_;
  std::vector<detail::Handle<detail::Allocation>> buffers_;
};

}  // namespace tegula::runtime
