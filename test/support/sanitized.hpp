// Tells whether this build is instrumented, for how often a slow case is repeated.
#pragma once

#include <cstdint>

namespace tegula::test {

#if defined(__has_feature)  // Clang
#define TEGULA_HAS_FEATURE(name) __has_feature(name)
#else
#define TEGULA_HAS_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || TEGULA_HAS_FEATURE(thread_sanitizer)
inline constexpr bool thread_sanitized = true;
#else
inline constexpr bool thread_sanitized = false;
#endif
#if defined(__SANITIZE_ADDRESS__) || TEGULA_HAS_FEATURE(address_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = thread_sanitized;
#endif
#undef TEGULA_HAS_FEATURE

/// Schedules of a sweep: instrumented builds look for faults of the simulator, for which a tenth is enough.
inline constexpr std::uint64_t schedules(std::uint64_t wanted) { return sanitized ? (wanted + 9) / 10 : wanted; }

}  // namespace tegula::test
