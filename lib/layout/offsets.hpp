// Distances in a shared tile, in elements and in bytes: two types, so that the one is never taken for the other.
#pragma once

#include <compare>
#include <cstdint>

namespace tegula::layout {

/// A count with a unit. No arithmetic but with its like, no way to or from a number but by name.
template <class Unit>
struct Offset {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(Offset const&, Offset const&) = default;
  friend constexpr Offset operator+(Offset a, Offset b) { return Offset{a.count + b.count}; }
  friend constexpr Offset operator-(Offset a, Offset b) { return Offset{a.count - b.count}; }
};

using ElementOffset = Offset<struct Elements>;
using ByteOffset = Offset<struct Bytes>;

/// The one way from elements to bytes.
constexpr ByteOffset in_bytes(ElementOffset offset, int element_bytes) {
  return ByteOffset{offset.count * element_bytes};
}

}  // namespace tegula::layout
