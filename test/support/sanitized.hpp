// Tells whether this build is instrumented, for limits on time and for how often a slow case is repeated.
#pragma once

#include <cstdint>

namespace tegula::test {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr bool sanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr bool sanitized = true;
#else
inline constexpr bool sanitized = false;
#endif
#else
inline constexpr bool sanitized = false;
#endif

/// Schedules of a sweep: instrumented builds look for faults of the simulator, for which a tenth is enough.
inline constexpr std::uint64_t schedules(std::uint64_t wanted) { return sanitized ? (wanted + 9) / 10 : wanted; }

}  // namespace tegula::test
