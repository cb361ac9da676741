// Lets launches be recorded in place of run: the exporter embeds the kernels of a program's own launches.
#pragma once

#include <span>

#include "tegula/jit/launcher.hpp"
#include "tegula/runtime/device.hpp"

namespace tegula::jit {

/// Takes launches that are not run.
class LaunchRecorder {
 public:
  LaunchRecorder() = default;
  virtual ~LaunchRecorder() = default;
  LaunchRecorder(LaunchRecorder const&) = delete;
  LaunchRecorder& operator=(LaunchRecorder const&) = delete;
  /// Takes a launch of a kernel, or of several, on `where`.
  virtual void add(KernelRef const& kernels, std::span<Argument const> arguments, GridOverride const& grid,
                   device where) = 0;
};

/// Hands all launches of this process to a recorder; null: they run again.
void record_launches(LaunchRecorder* recorder);

/// Returns the recorder; null: launches run.
LaunchRecorder* launch_recorder();

}  // namespace tegula::jit
