// Makes layouts of tiles in shared memory: from the offset, in elements, to the tile's axes.
//
// Swizzled by W bytes: the last axis is contiguous and cut into column blocks of W bytes. Each block holds all rows, W
// bytes apart, and blocks follow one another. Inside a block the 16-byte chunks of a row are XORed by bits of the row.
// The bits are row % 8 for W = 128, (row / 2) % 4 for 64, (row / 4) % 2 for 32, none for 16. A TMA box W bytes wide
// writes this layout, and wgmma reads it in the mode of the same name. Axes before the last two are dense repetitions
// outermost.
//
// The hardware XORs absolute addresses, these layouts offsets: the same as long as the buffer begins at a multiple of
// swizzle_alignment(W). The other major order is the transposed layout.
#pragma once

#include <optional>
#include <string>

#include "layout/layout.hpp"
#include "layout/offsets.hpp"

namespace tegula::layout {

/// Counts the rows after which the pattern of a swizzle of 32 bytes or more repeats.
inline constexpr std::int64_t swizzle_rows = 8;

/// Returns the swizzled layout. Null with a message unless
/// - W is 128, 64, 32 or 16,
/// - the last extent fills whole blocks,
/// - the rows fill whole patterns of 8 rows (or are 1, 2 or 4).
Layout const* swizzled_layout(Extents const& shape, int element_bytes, int swizzle_bytes, std::string& error);
/// Returns the same with the last two axes exchanged: the last but one is contiguous.
Layout const* swizzled_transposed_layout(Extents const& shape, int element_bytes, int swizzle_bytes,
                                         std::string& error);
/// Returns the row-major layout without padding.
Layout const* dense_layout(Extents const& shape);
/// Returns the same with the last two axes exchanged.
Layout const* dense_transposed_layout(Extents const& shape);

/// Returns the bytes after which the pattern repeats, to which buffers must be aligned: 1024, 512, 256; 128 for none.
constexpr std::int64_t swizzle_alignment(int swizzle_bytes) { return swizzle_bytes <= 16 ? 128 : 8 * swizzle_bytes; }

/// Swizzles an address as the hardware does in that mode: the XOR of its 16-byte chunk bits; its own inverse.
constexpr ByteOffset swizzled_address(ByteOffset address, int swizzle_bytes) {
  std::int64_t const at = address.count;
  return ByteOffset{swizzle_bytes <= 16 ? at : at ^ (((at >> 7) & (swizzle_bytes / 16 - 1)) << 4)};
}

/// Names one of the layouts above.
struct SharedForm {
  int swizzle_bytes = 0;  ///< 0: dense
  bool transposed = false;
  friend bool operator==(SharedForm const&, SharedForm const&) = default;
};
/// Finds the first that fits of dense, swizzled by 128, 64, 32, 16 bytes, then the transposed ones in that order.
std::optional<SharedForm> shared_form(Layout const& layout, int element_bytes);

}  // namespace tegula::layout
