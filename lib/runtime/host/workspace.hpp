// Memory that host kernels borrow for a launch: kept between launches, 64-byte aligned, uninitialised.
#pragma once

#include <cstdint>

namespace tegula::runtime::host {

/// A workspace for one launch; goes back to the list of free ones when it dies. Null for 0 bytes. Throws UserError if
/// the memory cannot be had.
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

/// The calling thread's scratch memory of at least `bytes`; valid until the thread asks again. Null for 0 bytes. Throws
/// UserError if the memory cannot be had.
void* thread_scratch(std::int64_t bytes);

}  // namespace tegula::runtime::host
