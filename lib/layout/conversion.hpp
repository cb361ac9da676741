// What a conversion from one register layout to another takes: nothing, other registers, shuffles within warps, or
// shared memory. Computed from C = B^-1 A, and for shuffles given as steps that a lowering follows.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "layout/layout.hpp"

namespace tegula::layout {

enum class ConversionKind : std::uint8_t {
  none,      ///< the registers are the same ones
  moves,     ///< every thread has what it needs, in other registers
  shuffles,  ///< every warp has what it needs
  shared,    ///< through shared memory
};

/// The steps, in order:
///   1. each of `before` on the source registers, 2. `shuffles`, each giving one result, 3. each of `after` on the
///   results, 4. register r of the destination is result[r].
struct ShufflePlan {
  /// In lanes where `lane & lanes` has an odd number of bits, values x and x ^ registers trade places, for all x.
  struct Exchange {
    std::uint32_t lanes = 0;
    std::uint32_t registers = 0;
  };
  /// Reads register `source` of lane `lane ^ (lane_bits of the set bits of the reading lane)`.
  struct Shuffle {
    int source = 0;
    int lane = 0;
  };
  std::vector<Exchange> before;
  std::array<int, 5> lane_bits{};
  std::vector<Shuffle> shuffles;
  std::vector<Exchange> after;
  std::vector<int> result;

  [[nodiscard]] int source_lane(Shuffle const& shuffle, int lane) const;
  /// Every lane reads itself: no instruction is needed.
  [[nodiscard]] bool stays(Shuffle const& shuffle) const;
  /// Shuffles that are instructions.
  [[nodiscard]] int instructions() const;
};

struct Conversion {
  ConversionKind kind = ConversionKind::shared;
  std::vector<int> moves;  ///< kinds none and moves: the source's register for each of the destination's
  ShufflePlan shuffle;     ///< kind shuffles
};

/// Both layouts are of one tile (any other pair is kind shared).
Conversion conversion(Layout const& from, Layout const& to);

/// For a conversion through shared memory: the layout of the tile there with the fewest wavefronts of writing `from`
/// and reading `to`, among dense and swizzled ones in both orders. Null when none is possible.
Layout const* scratch_layout(Layout const& from, Layout const& to, int element_bytes);

}  // namespace tegula::layout
