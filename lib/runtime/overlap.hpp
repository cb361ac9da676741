// Tells whether two strided tensors share a byte: exact, by integer arithmetic on their lattices of addresses.
#pragma once

#include <cstdint>

#include "tegula/support/extents.hpp"

namespace tegula::runtime {

/// Holds a tensor's addresses: base + sum of index * stride, element_bytes long each. Strides in bytes.
struct Footprint {
  std::int64_t base = 0;
  int rank = 0;
  std::int64_t extents[max_rank] = {};
  std::int64_t strides[max_rank] = {};
  std::int64_t element_bytes = 1;
};

enum class Overlap : std::uint8_t {
  none,
  some,
  unknown  ///< undecided within the bound on work: only lattices of several large, nearly equal strides
};

/// Holds the range of bytes [first, last) that contains every element; both 0 for an empty tensor. The caller has made
/// sure that it fits 64 bits (see argument_check).
struct ByteRange {
  std::int64_t first = 0;
  std::int64_t last = 0;
};
ByteRange byte_range(Footprint const& footprint);

/// Tells whether two tensors have a byte in common.
Overlap overlap(Footprint const& a, Footprint const& b);

/// Tells whether two different elements of one tensor have a byte in common (a stride of 0, a sliding window).
Overlap self_overlap(Footprint const& footprint);

}  // namespace tegula::runtime
