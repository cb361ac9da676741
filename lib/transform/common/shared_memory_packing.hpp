// Places buffers in as little memory as it finds. Knows sizes, alignments and the pairs that must not overlap; does not
// know IR.
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

/// Returns offsets for all items, such that no two items with together(a, b) overlap, except fixed ones. Tries several
/// orders of first fit and improves the best one by moving its topmost item to the front. A pure function of its
/// arguments. `min`: a lower bound of all results; a result of that size ends the search.
std::vector<std::int64_t> pack(std::vector<PackItem> const& items,
                               std::function<bool(std::size_t, std::size_t)> const& together, std::int64_t min = 0);

/// Returns the end of the topmost item.
std::int64_t packed_bytes(std::vector<PackItem> const& items, std::vector<std::int64_t> const& offsets);

}  // namespace tegula::transform
