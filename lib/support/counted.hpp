// Counts things in the words of messages.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <string>
#include <string_view>

namespace tegula::support {

/// Returns "1 warp", "3 warps". `many`: the plural where it is not `one` and an s.
inline std::string counted(std::int64_t count, std::string_view one, std::string_view many = {}) {
  if (count == 1) return fmt::format("1 {}", one);
  return many.empty() ? fmt::format("{} {}s", count, one) : fmt::format("{} {}", count, many);
}

}  // namespace tegula::support
