// Lists the passes with their contracts, and the pipelines that targets run by default.
#pragma once

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>

#include "transform/pass.hpp"

namespace tegula::transform {

/// Names a property of a whole module. Passes need properties and leave properties. The IR alone shows whether one
/// holds, so a dump that is read back needs no record of earlier passes.
enum class Property : std::uint8_t {
  no_calls,        ///< no call is left
  expanded_math,   ///< elementary functions are arithmetic
  layouts,         ///< every tile has a layout, and kernels state their warps
  no_dots,         ///< no product of tiles is left
  no_fetches,      ///< no tile in shared memory without a buffer is left
  shared_offsets,  ///< every user of shared memory has its place
  barriers,        ///< no hazard is left that a barrier can close
};
inline constexpr int property_count = 7;

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
};

/// Describes one pass, a row of the table.
struct PassInfo {
  std::string_view name;
  std::string_view summary;
  FunctionPass function = nullptr;  ///< one of the two is set; function passes run callees first
  ModulePass module = nullptr;
  PropertySet needs = {};
  PropertySet leaves = {};
  PropertySet breaks = {};     ///< properties that may no longer hold afterwards
  std::string_view last = {};  ///< the reason that no pass may run behind it; empty: some may
};

std::span<PassInfo const> passes();
/// Finds a pass; null if there is no such pass.
PassInfo const* find_pass(std::string_view name);
/// Prints each pass with its summary, needs and leaves.
std::string describe_passes();

/// Passes in the order in which they run; each stands in the table.
using Pipeline = std::span<PassInfo const* const>;

/// Lists the passes with which every executor begins: the sums that do not round their products.
Pipeline contraction();
/// Lists the passes for the host.
Pipeline host_pipeline();
/// Lists the passes for kernels of a GPU without products or copies. Functions may stay: barriers are due on both sides
/// of a call, so the text says them.
Pipeline cuda_pipeline();
/// Lists the passes for kernels of a GPU that become block ops, whose text says every barrier. Their loops must be seen
/// whole, so all calls are inlined.
Pipeline cuda_block_pipeline();
/// Lists the passes for kernels written in block ops, which already have layouts and copies.
Pipeline block_pipeline();

}  // namespace tegula::transform
