// Joins a wgmma_fence with the wgmma after it: both are one statement of PTX.
#pragma once

#include <utility>

namespace tegula::codegen::nvptx {

class OpenWgmma {
 public:
  /// Leaves the fence of the registers to the wgmma that is emitted next.
  void leave_fence() { fence_ = true; }
  /// Tells whether this wgmma has a fence to emit.
  bool take_fence() { return std::exchange(fence_, false); }

 private:
  bool fence_ = false;
};

}  // namespace tegula::codegen::nvptx
