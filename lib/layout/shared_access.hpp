// Maps a register tile to shared memory: M = S^-1 R from register, lane and warp to offset. Splits the map into
// vectors, and finds the banks that these access. All offsets are in elements from the start of the view; the caller
// adds the offset of a moved view (ElementOffsets::movable).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "layout/element_offsets.hpp"
#include "layout/layout.hpp"

namespace tegula::layout {

/// Holds M in parts: offset = XOR of the lows + sum of the highs of register, lane and warp. So a thread computes its
/// own part once. Each register is one XOR and one immediate away; without the XOR where the register's low part is 0.
class AccessMap {
 public:
  using Part = ElementOffsets::Part;

  /// Makes the map. Nothing with a message unless the register tile has the shape of a view of a tile with the layout
  /// `memory`.
  static std::optional<AccessMap> get(Layout const& registers, Layout const& memory, std::string& why);

  [[nodiscard]] Part of(Dim dim, std::int64_t index) const {
    return parts_[static_cast<std::size_t>(dim)][static_cast<std::size_t>(index)];
  }
  [[nodiscard]] std::int64_t at(std::int64_t reg, std::int64_t lane, std::int64_t warp) const {
    Part const r = of(Dim::reg, reg), l = of(Dim::lane, lane), w = of(Dim::warp, warp);
    return (r.low ^ l.low ^ w.low) + r.high + l.high + w.high;
  }
  [[nodiscard]] int size(Dim dim) const { return static_cast<int>(parts_[static_cast<std::size_t>(dim)].size()); }
  [[nodiscard]] int registers() const { return size(Dim::reg); }
  [[nodiscard]] int lanes() const { return size(Dim::lane); }
  [[nodiscard]] int warps() const { return size(Dim::warp); }

 private:
  std::vector<Part> parts_[3];  ///< register, lane, warp
};

/// Holds one access of a thread: registers at adjacent offsets, from the lowest offset.
struct VectorAccess {
  std::vector<int> registers;
  ElementOffsets::Part first;  ///< of registers[0]
};
struct VectorPlan {
  int width = 1;  ///< elements per access, the same for all
  std::vector<VectorAccess> accesses;
  /// Registers that hold the element of another one: a load copies them from there, a store leaves them out.
  std::vector<std::pair<int, int>> copies;
};
/// Finds the widest accesses, up to `max_bytes` (at most 16), aligned to their size in every thread.
VectorPlan vector_plan(AccessMap const& map, int element_bytes, int max_bytes = 16);

/// Counts the wavefronts of a warp's access, and their minimum.
struct BankCost {
  int wavefronts = 0;
  int min = 0;
  friend bool operator==(BankCost const&, BankCost const&) = default;
};
/// Counts one access of `bytes` per lane at these byte addresses. Lanes go in groups of 32, 16 or 8 for up to 4, 8 or
/// 16 bytes. In a group, each bank of 4 bytes serves one word at a time to all lanes that read it.
BankCost bank_cost(std::span<std::int64_t const> addresses, int bytes);
/// Counts all accesses of a plan, of the warp with the highest cost.
BankCost bank_cost(AccessMap const& map, VectorPlan const& plan, int element_bytes);

}  // namespace tegula::layout
