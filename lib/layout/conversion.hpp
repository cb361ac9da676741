// Decides how to convert one register layout to another: nothing to do, other registers, shuffles within warps, or
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
  moves,     ///< every thread has its elements, in other registers
  shuffles,  ///< every warp has its elements
  shared,    ///< through shared memory
};

/// Lists the steps, in order:
///   1. each of `before` on the source registers, 2. `shuffles`, each giving one result, 3. each of `after` on the
///   results, 4. register r of the destination is result[r].
struct ShufflePlan {
  /// Exchanges values x and x ^ registers, for all x, in lanes where `lane & lanes` has an odd number of bits.
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
  /// True when every lane reads itself: it does not need an instruction.
  [[nodiscard]] bool reads_own_lane(Shuffle const& shuffle) const;
  /// Counts the shuffles that are instructions.
  [[nodiscard]] int instructions() const;
};

struct Conversion {
  ConversionKind kind = ConversionKind::shared;
  std::vector<int> moves;  ///< kinds none and moves: the source's register for each of the destination's
  ShufflePlan shuffle;     ///< kind shuffles
};

/// Decides the conversion. Both layouts are of one tile (any other pair is kind shared).
Conversion conversion(Layout const& from, Layout const& to);

/// Describes a conversion whose elements move together, several as one word.
struct WordConversion {
  Layout const* from = nullptr;  ///< the layouts of the words
  Layout const* to = nullptr;
  std::vector<int> from_bits,
      to_bits;  ///< bits of a register's number that tell the elements of a word apart, in order
  /// Returns the register of a word's element: the bits of `element` at `bits`, those of `word` around them.
  static int register_of(int word, int element, std::vector<int> const& bits);
};

/// Takes up to `most` bits of the registers' numbers out of both layouts: bits that lead to the same neighbour in both,
/// so that a thread's elements which differ in them are one thread's before and after.
WordConversion words_of(Layout const& from, Layout const& to, int most);

/// Returns layouts of a tile in shared memory in which `from` is written and `to` read without bank conflicts. They
/// differ in the side whose accesses are as wide as its registers allow: both, `from` or `to`. Elements that a thread
/// holds on both sides move together. Empty where the atoms of the two differ.
std::vector<Layout const*> scratch_layouts(Layout const& from, Layout const& to, int element_bytes);

}  // namespace tegula::layout
