// Lists the passes with their contracts, and the pipelines that targets run by default.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "transform/common/pass.hpp"
#include "transform/common/properties.hpp"

namespace tegula::transform {

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
