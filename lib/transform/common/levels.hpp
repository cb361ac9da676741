// Names the levels of the IR, and tells on which of them a module is.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "transform/common/properties.hpp"

namespace tegula::transform {

/// Names a level of a whole module; passes lead from each to the next one. The IR alone shows the level, so a dump that
/// is read back needs no record of earlier passes. A module may be on several levels: tiles without layouts or copies
/// are planned as they are written.
enum class Level : std::uint8_t {
  tile,      ///< as written: ops that tile executors or hosts run; layouts are free to be stated
  planned,   ///< copies and products have their paths
  laid_out,  ///< no product of tiles is left, every tile has a layout, and kernels state their warps
  staged,    ///< no fetch is left: copies have rings of stages, and fill and release them in roles
  placed,    ///< every user of shared memory has its offset
};
inline constexpr int level_count = 5;

std::string_view name(Level level);

/// Returns the properties that hold from this level on.
constexpr PropertySet properties_of(Level level) {
  PropertySet result;
  if (level >= Level::laid_out) result = result | PropertySet{Property::no_dots, Property::layouts};
  if (level >= Level::staged) result = result | PropertySet{Property::no_fetches};
  if (level >= Level::placed) result = result | PropertySet{Property::shared_offsets};
  return result;
}

/// Verifies a level. Explains why the module is not on it: a property that it lacks, or the first op that only later
/// levels have. Empty: it is.
std::string why_not(Level level, ir::Module const& module);

/// Holds levels that follow each other.
struct Levels {
  Level from = Level::tile;
  Level to = Level::placed;
  friend constexpr bool operator==(Levels const&, Levels const&) = default;
};
inline constexpr Levels all_levels{};
constexpr Levels only(Level level) { return {level, level}; }

/// Prints "tile", or "tile to planned".
std::string to_string(Levels levels);

/// Returns the lowest level that allows all ops of a module, and the highest whose properties hold. If the first is
/// above the second, the module is on none.
Levels levels_of(ir::Module const& module);

}  // namespace tegula::transform
