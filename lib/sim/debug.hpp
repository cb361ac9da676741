// Holds the asserts and prints that the simulators of tiles and of warps share.
#pragma once

#include <type_traits>

#include "sim/agent.hpp"
#include "support/console.hpp"

namespace tegula::sim {

/// Returns the block that an assert or a print names.
inline support::BlockIndex named_block(Agent const& agent, ir::Op const& op) {
  return {agent.index(*op.in("block0")), agent.index(*op.in("block1")), agent.index(*op.in("block2"))};
}

/// Returns a stored element as a print shows it.
template <class T>
auto printed(T value) {
  using Integer = std::conditional_t<std::is_same_v<T, std::uint64_t>, std::uint64_t, std::int64_t>;
  return static_cast<std::conditional_t<std::is_floating_point_v<T>, double, Integer>>(value);
}

}  // namespace tegula::sim
