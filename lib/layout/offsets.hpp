// Distinguishes distances in a shared tile in elements from those in bytes, by two types that do not mix.
#pragma once

#include <compare>
#include <cstdint>

namespace tegula::layout {

/// Holds a count with a unit. It computes only with its like, and converts to or from a number only by name.
template <class Unit>
struct Offset {
  std::int64_t count = 0;
  friend constexpr auto operator<=>(Offset const&, Offset const&) = default;
  friend constexpr Offset operator+(Offset a, Offset b) { return Offset{a.count + b.count}; }
  friend constexpr Offset operator-(Offset a, Offset b) { return Offset{a.count - b.count}; }
};

using ElementOffset = Offset<struct ElementUnit>;
using ByteOffset = Offset<struct ByteUnit>;

/// Converts elements to bytes; the only way to do so.
constexpr ByteOffset in_bytes(ElementOffset offset, int element_bytes) {
  return ByteOffset{offset.count * element_bytes};
}

}  // namespace tegula::layout
