// Gives address ranges larger than the machine's memory: only pages that are written exist.
#pragma once

#include <sys/mman.h>

#include <cstdint>

namespace tegula::test {

inline constexpr std::int64_t two_31 = std::int64_t{1} << 31;

/// Holds a range of zeros; false if the system does not give it.
class LargeMemory {
 public:
  explicit LargeMemory(std::int64_t bytes)
      : bytes_(static_cast<std::size_t>(bytes)),
        address_(::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {}
  ~LargeMemory() {
    if (*this) ::munmap(address_, bytes_);
  }
  LargeMemory(LargeMemory const&) = delete;
  LargeMemory& operator=(LargeMemory const&) = delete;
  explicit operator bool() const { return address_ != MAP_FAILED; }
  template <class T>
  [[nodiscard]] T* as() const {
    return static_cast<T*>(address_);
  }

 private:
  std::size_t bytes_;
  void* address_;
};

}  // namespace tegula::test
