// Lists the passes with their contracts, and the pipelines that targets run by default.
#pragma once

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "transform/common/levels.hpp"
#include "transform/common/pass.hpp"

namespace tegula::transform {

/// Names a pass that has to come earlier, and the reason.
struct After {
  std::string_view pass;
  std::string_view why;
};

struct Afters {
  After list[8] = {};
  int count = 0;
  constexpr Afters() = default;
  constexpr Afters(std::initializer_list<After> afters) {
    for (After const& after : afters) list[count++] = after;
  }
  [[nodiscard]] constexpr After const* begin() const { return list; }
  [[nodiscard]] constexpr After const* end() const { return list + count; }
};

/// Describes one pass, a row of the table. The order of default pipelines follows from it: from levels, properties and
/// passes that come earlier. Where the order of two neighbours is free, or follows from less, the header of the later
/// one has a sentence that begins with "Order:".
struct PassInfo {
  std::string_view name;
  std::string_view summary;
  FunctionPass function = nullptr;  ///< one of the two is set; function passes run callees first
  ModulePass module = nullptr;
  Levels works_on = {Level::placed, Level::tile};  ///< stated in every row
  std::optional<Level> leads_to = {};  ///< the level on which it leaves every module; nothing: each stays on its own
  PropertySet needs = {};              ///< besides those of the level
  PropertySet leaves = {};             ///< besides those of the level to which it leads
  PropertySet breaks = {};             ///< properties that may no longer hold afterwards
  Afters after = {};                   ///< passes of the same pipeline that come before it
  std::string_view last = {};          ///< the reason that no pass may run after it; empty: some may

  /// Returns all that has to hold before it.
  [[nodiscard]] constexpr PropertySet all_needs() const { return properties_of(works_on.from) | needs; }
  /// Returns all that it makes true.
  [[nodiscard]] constexpr PropertySet all_leaves() const {
    return leads_to ? leaves | (properties_of(*leads_to) - all_needs()) : leaves;
  }
  /// True for a pass that tidies up. It may stand anywhere, and in several places; `after` only orders it in default
  /// pipelines, where its last place is after those passes.
  [[nodiscard]] constexpr bool works_everywhere() const { return works_on == all_levels; }
};

std::span<PassInfo const> passes();
/// Finds a pass; null if there is no such pass.
PassInfo const* find_pass(std::string_view name);
/// Prints each pass with its summary, its levels, needs and leaves, and the passes that come before it.
std::string describe_passes();

/// Passes in the order in which they run; each stands in the table.
using Pipeline = std::span<PassInfo const* const>;

/// Lists the passes with which every executor begins: the sums that do not round their products.
Pipeline contraction();
/// Lists the passes for the host.
Pipeline host_pipeline();
/// Lists the passes for a GPU. Those for products and copies leave kernels without them as they are.
Pipeline cuda_pipeline();
/// Lists the passes for kernels written in block ops, which already have layouts and copies.
Pipeline block_pipeline();

}  // namespace tegula::transform
