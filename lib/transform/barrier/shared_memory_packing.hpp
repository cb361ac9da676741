// Places for buffers in as little memory as possible. Knows sizes, alignments and who may not overlap whom; nothing of
// IR.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

namespace tegula::transform {

struct PackItem {
  std::int64_t bytes = 0;
  std::int64_t align = 1;    ///< a power of two
  std::int64_t offset = -1;  ///< at least 0: stays there
};

/// Offsets for all items, such that no two of which together(a, b) holds overlap, fixed ones excepted. Tries several
/// orders of first fit and improves the best by moving what lies topmost to the front; a pure function of its
/// arguments. `least`: no result is smaller, so that one of that size ends the search.
std::vector<std::int64_t> pack(std::vector<PackItem> const& items,
                               std::function<bool(std::size_t, std::size_t)> const& together, std::int64_t least = 0);

/// The end of the topmost item.
std::int64_t packed_bytes(std::vector<PackItem> const& items, std::vector<std::int64_t> const& offsets);

}  // namespace tegula::transform
