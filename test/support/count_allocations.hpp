// Counts the allocations of the calling thread. A program that links count_allocations.cpp replaces operator new.
#pragma once

#include <cstdint>

namespace tegula::test {

/// Gives the calls of operator new on this thread so far.
std::int64_t allocations_of_thread();

}  // namespace tegula::test
