// Lends memory to host kernels for a launch: kept between launches, 64-byte aligned, uninitialised.
#pragma once

#include <cstdint>
#include <optional>

namespace tegula::runtime::host {

/// Holds a workspace for one launch; it returns to the list of free ones when it dies. Null for 0 bytes. Throws
/// UserError if it cannot be allocated.
class Workspace {
 public:
  explicit Workspace(std::int64_t bytes);
  ~Workspace();
  Workspace(Workspace const&) = delete;
  Workspace& operator=(Workspace const&) = delete;
  [[nodiscard]] void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::int64_t bytes_ = 0;
};

/// Returns the calling thread's scratch memory of at least `bytes`, the same until the thread asks for more; null for 0
/// bytes. In destructors that run after the thread has freed its own, and at the exit of the process, it is a
/// workspace. Throws UserError if it cannot be allocated.
class Scratch {
 public:
  explicit Scratch(std::int64_t bytes);
  Scratch(Scratch const&) = delete;
  Scratch& operator=(Scratch const&) = delete;
  [[nodiscard]] void* get() const { return memory_; }

 private:
  void* memory_ = nullptr;
  std::optional<Workspace> borrowed_;
};

}  // namespace tegula::runtime::host
