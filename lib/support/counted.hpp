// Counts things in the words of messages.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tegula::support {

/// Returns "1 warp", "3 warps". `many`: the plural where it is not `one` and an s.
inline std::string counted(std::int64_t count, std::string_view one, std::string_view many = {}) {
  std::string text = std::to_string(count) + " ";
  if (count == 1) return text.append(one);
  return many.empty() ? text.append(one) += "s" : text.append(many);
}

}  // namespace tegula::support
