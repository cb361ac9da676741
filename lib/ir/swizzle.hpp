// Converts a tensor map's swizzle between the attribute, its span in bytes, and what the launcher reads.
#pragma once

#include "tegula/abi/tensor_map_info.hpp"
#include "tegula/ir/ops.hpp"

namespace tegula::ir {

/// The launcher's name of a swizzle. Both enumerations list the same modes in the same order.
constexpr SwizzleMode swizzle_mode(Swizzle swizzle) { return static_cast<SwizzleMode>(swizzle); }
static_assert(swizzle_mode(Swizzle::none) == SwizzleMode::none && swizzle_mode(Swizzle::b32) == SwizzleMode::b32 &&
              swizzle_mode(Swizzle::b64) == SwizzleMode::b64 && swizzle_mode(Swizzle::b128) == SwizzleMode::b128);

/// Bytes of a span; 0 for none.
constexpr int swizzle_bytes(Swizzle swizzle) { return tegula::swizzle_bytes(swizzle_mode(swizzle)); }

/// The swizzle of a span of so many bytes; none for any other number than 32, 64 and 128.
constexpr Swizzle swizzle_of(int span) {
  for (Swizzle const swizzle : {Swizzle::b32, Swizzle::b64, Swizzle::b128})
    if (swizzle_bytes(swizzle) == span) return swizzle;
  return Swizzle::none;
}

}  // namespace tegula::ir
