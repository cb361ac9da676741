// Computes the wgmma descriptor of a shared tile from the tile's layout, and checks it element by element.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "layout/layout.hpp"
#include "target/finding.hpp"
#include "tegula/target/target_info.hpp"

namespace tegula::target {

/// Names the operand: A is (M, K), 64 rows an instruction; B is (K, N), up to 256 columns an instruction.
enum class WgmmaRole : std::uint8_t { a, b };

/// Holds fields of the 64-bit matrix descriptor, in bytes, and where the instructions of a tile start.
struct WgmmaOperand {
  int swizzle_bytes = 16;               ///< 128, 64, 32, or 16: no swizzle
  bool mn_major = false;                ///< M or N is contiguous: the transpose bit
  std::int64_t leading = 16;            ///< LBO
  std::int64_t stride = 0;              ///< SBO
  int mn_per_step = 64;                 ///< extent of M or N that one instruction takes
  int k_per_step = 16;                  ///< elements of K that one instruction takes: 32 bytes
  std::vector<std::int64_t> k_starts;   ///< bytes from the view's start to each step along K
  std::vector<std::int64_t> mn_starts;  ///< bytes from the view's start to each step along M or N

  /// Returns bits 62-63.
  [[nodiscard]] int mode() const {
    return swizzle_bytes == 128 ? 1 : swizzle_bytes == 64 ? 2 : swizzle_bytes == 32 ? 3 : 0;
  }
  /// Returns all of the descriptor but the start address (bits 0-13).
  [[nodiscard]] std::uint64_t high_bits() const {
    return static_cast<std::uint64_t>(leading >> 4) << 16 | static_cast<std::uint64_t>(stride >> 4) << 32 |
           static_cast<std::uint64_t>(mode()) << 62;
  }
  /// Returns the descriptor for a tile that starts at this shared address.
  [[nodiscard]] std::uint64_t descriptor(std::uint32_t address) const { return high_bits() | (address & 0x3FFFF) >> 4; }
};

/// Finds the operand for a view of this shape (M x K for A, K x N for B). The view begins at `origin` of a tile of this
/// layout (at 0 when empty). The tile begins at a multiple of swizzle_alignment. `n_per_step` is the instruction's N
/// for B; 0: N in the fewest equal parts that instructions and descriptors support. Nothing, with a finding or its
/// text, when a descriptor cannot describe the view.
std::optional<WgmmaOperand> wgmma_operand(Extents const& view, layout::Layout const& memory, int element_bytes,
                                          WgmmaRole role, Finding& why, int n_per_step = 0, Extents const& origin = {});
std::optional<WgmmaOperand> wgmma_operand(Extents const& view, layout::Layout const& memory, int element_bytes,
                                          WgmmaRole role, std::string& why, int n_per_step = 0,
                                          Extents const& origin = {});

/// Divides the columns of a right operand (K, N) into the fewest equal parts that one instruction of at most
/// `max_columns` takes. `groups` columns of warpgroups multiply as many parts each, which are evenly spaced.
struct WgmmaColumns {
  WgmmaOperand operand;
  std::int64_t parts = 1;
};
std::optional<WgmmaColumns> wgmma_columns(Extents const& view, layout::Layout const& memory, int element_bytes,
                                          bool integers, std::int64_t max_columns, int groups, Finding& why);

/// Returns the maximum number of columns of one instruction in a CTA of so many warps. Its accumulators and the other
/// live values must fit the registers with which the CTA's threads begin; setmaxnreg does not help (ptxas, C7602).
std::int64_t max_wgmma_columns(int cta_warps, TargetInfo const& target);

}  // namespace tegula::target
