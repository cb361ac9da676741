// Replaces operator new by one that counts.
#include "support/count_allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

thread_local constinit std::int64_t of_thread = 0;
constinit std::atomic<std::int64_t> of_all = 0, bytes_of_all = 0;

void count(std::size_t bytes) {
  ++of_thread;
  of_all.fetch_add(1, std::memory_order_relaxed);
  bytes_of_all.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
}

}  // namespace

std::int64_t tegula::test::allocations_of_thread() { return of_thread; }
tegula::test::Allocations tegula::test::allocations() { return {of_all.load(), bytes_of_all.load()}; }

void* operator new(std::size_t bytes) {
  count(bytes);
  if (void* const memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  count(bytes);
  return std::malloc(bytes != 0 ? bytes : 1);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  count(bytes);
  auto const to = static_cast<std::size_t>(alignment);
  if (void* const memory = std::aligned_alloc(to, (bytes + to) / to * to)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }
