// Replaces operator new by one that counts.
#include "support/count_allocations.hpp"

#include <cstdlib>
#include <new>

namespace {
thread_local constinit std::int64_t allocations = 0;
}

std::int64_t tegula::test::allocations_of_thread() { return allocations; }

void* operator new(std::size_t bytes) {
  ++allocations;
  if (void* const memory = std::malloc(bytes != 0 ? bytes : 1)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t bytes, std::nothrow_t const&) noexcept {
  ++allocations;
  return std::malloc(bytes != 0 ? bytes : 1);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
