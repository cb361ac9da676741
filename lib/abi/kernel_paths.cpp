#include "tegula/abi/kernel_paths.hpp"

#include <fmt/format.h>

#include <array>

#include "support/counted.hpp"

namespace tegula {
namespace {

constexpr std::array path_names{"tma",    "pointer", "wgmma",       "mma",    "lanes",
                                "vector", "element", "contraction", "product"};
constexpr std::array kind_names{"load", "store", "gather", "scatter", "atomic"};

char const* name(AccessPath::Kind kind) { return kind_names[static_cast<std::size_t>(kind)]; }

std::string place(location where) {
  return where.known() ? fmt::format(" ({}:{})", where.file(), where.line()) : std::string();
}

std::string because(std::string const& reason, std::string const& fix) {
  return (reason.empty() ? "" : "; " + reason) + (fix.empty() ? "" : "; remedy: " + fix);
}

}  // namespace

char const* name(Path path) { return path_names[static_cast<std::size_t>(path)]; }

std::string KernelPaths::paths_text(int indent) const {
  std::string const begin(static_cast<std::size_t>(indent), ' ');
  std::string text;
  if (!kernel_plan.empty()) text += fmt::format("{}plan {}\n", begin, kernel_plan);
  for (auto const* list : {&loads, &stores, &indexed})
    for (AccessPath const& access : *list)
      text += fmt::format("{}{} {}{}: {} of {}{}{}\n", begin, name(access.kind), access.memory, place(access.where),
                          name(access.path), access.tile,
                          access.bytes == 0 ? std::string() : fmt::format(", {} bytes at once", access.bytes),
                          because(access.reason, access.fix));
  for (DotPath const& dot : dots)
    text += fmt::format("{}dot {}{}: {}{}\n", begin, dot.tiles, place(dot.where), name(dot.path),
                        because(dot.reason, dot.fix));
  for (RingDepth const& ring : rings)
    text += fmt::format(
        "{}ring of {}{}: {}, {} used, {} bytes each{}\n", begin, ring.memory, place(ring.where),
        ring.written == 0 ? std::string("no stages written") : support::counted(ring.written, "stage") + " written",
        ring.used, ring.stage_bytes, because(ring.reason, ""));
  for (PaddedTile const& tile : padded)
    text += fmt::format("{}padded {}{}: {} written, {} used\n", begin, tile.tile, place(tile.where), tile.written,
                        tile.used);
  return text;
}

}  // namespace tegula
