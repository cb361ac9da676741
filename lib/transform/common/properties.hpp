// Names properties of modules, and tells which of them hold.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "ir/core/op.hpp"

namespace tegula::transform {

/// Names a property of a whole module. Passes need properties and leave properties. The IR alone shows whether one
/// holds, so a dump that is read back needs no record of earlier passes.
enum class Property : std::uint8_t {
  whole_kernels,   ///< no call is left beside products, loops with stages, loops over tiles and copies
  expanded_math,   ///< elementary functions are arithmetic
  planned_dots,    ///< each product of tiles states its path
  no_dots,         ///< no product of tiles is left
  layouts,         ///< every tile has a layout, and kernels state their warps
  no_fetches,      ///< no tile in shared memory without a buffer is left
  shared_offsets,  ///< every user of shared memory has its place
  barriers,        ///< no hazard is left that a barrier can close
};
inline constexpr int property_count = 8;

std::string_view name(Property property);
/// Explains why the property does not hold: the first op in its way. Empty: it holds.
std::string why_not(Property property, ir::Module const& module);

struct PropertySet {
  unsigned bits = 0;
  constexpr PropertySet() = default;
  constexpr PropertySet(std::initializer_list<Property> properties) {
    for (Property property : properties) bits |= 1U << static_cast<int>(property);
  }
  [[nodiscard]] constexpr bool has(Property property) const { return (bits >> static_cast<int>(property) & 1U) != 0; }
  constexpr PropertySet operator|(PropertySet other) const {
    other.bits |= bits;
    return other;
  }
  [[nodiscard]] constexpr bool meets(PropertySet other) const { return (bits & other.bits) != 0; }
  constexpr PropertySet operator-(PropertySet other) const {
    other.bits = bits & ~other.bits;
    return other;
  }
};

/// Holds a property that a module lacks, and the first op in its way.
struct Lack {
  Property property;
  std::string why;
};
/// Finds the first of the properties that does not hold; nothing: all do.
std::optional<Lack> first_lack(PropertySet properties, ir::Module const& module);

}  // namespace tegula::transform
