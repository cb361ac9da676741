// Counts locks and hashes of the calling thread. A program that links count_locks.cpp replaces the functions of the C
// and C++ libraries; builds with sanitizers, which replace them too, count nothing.
#pragma once

#include <cstdint>

#include "support/sanitized.hpp"

namespace tegula::test {

inline constexpr bool counts_locks = !sanitized;

/// Returns the mutexes that this thread has locked so far, shared ones too.
std::int64_t locks_of_thread();
/// Returns the texts that this thread has hashed for tables of the standard library so far.
std::int64_t hashes_of_thread();

}  // namespace tegula::test
