// Counts allocations: work that is the same on every machine, however busy. A program that links count_allocations.cpp
// replaces operator new.
#pragma once

#include <cstdint>

namespace tegula::test {

/// Returns the calls of operator new on this thread so far.
std::int64_t allocations_of_thread();

/// Holds allocations of all threads.
struct Allocations {
  std::int64_t count = 0, bytes = 0;

  friend Allocations operator-(Allocations const& a, Allocations const& b) {
    return {a.count - b.count, a.bytes - b.bytes};
  }
};

/// Returns those of the process so far.
Allocations allocations();

/// Returns those of some work.
template <class Work>
Allocations allocations_of(Work const& work) {
  Allocations const before = allocations();
  work();
  return allocations() - before;
}

}  // namespace tegula::test
