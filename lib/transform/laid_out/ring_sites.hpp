// Finds the rings of a kernel: which fetches fill the stages of one ring.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ir/core/op.hpp"
#include "transform/common/pass.hpp"
#include "transform/common/ring_lifetimes.hpp"

namespace tegula::transform {

/// Describes a place where a ring is filled: fetches of one block that fill one stage together, one per buffer of the
/// ring.
struct FillSite {
  std::vector<ir::Op*> fetches;
  StageLifetime life;
  ir::Value* use = nullptr;      ///< which use of the ring this is
  ir::Value* use_end = nullptr;  ///< after the loop whose body holds the site: the use that would come next
  [[nodiscard]] ir::Block& block() const { return *fetches.front()->parent(); }
  /// Tells whether all threads fill the stage, since they copy boxes or rows of it.
  [[nodiscard]] bool by_threads() const;
  /// Tells whether one lane starts copies of the TMA engine.
  [[nodiscard]] bool by_engine() const;
};

/// Describes buffers whose stages are filled, read and released together.
struct Ring {
  std::vector<FillSite> sites;  ///< in the order of the text
  std::int64_t number = 0;      ///< that marks the ring's regions
  std::int64_t stages = 1;
  std::int64_t stage_bytes = 0;  ///< of shared memory
  std::int64_t tile_bytes = 0;   ///< that the TMA engine brings: a stage may have padding behind each tile
  std::vector<ir::Value*> buffers;
  ir::Value* full = nullptr;
  ir::Value* empty = nullptr;  ///< null: a stage is filled once
  std::int64_t share = 1;      ///< CTAs of the cluster that fill each other's stages, and release them to each other
  /// Tells whether a stage is filled more than once.
  [[nodiscard]] bool repeats() const;
  /// Counts the stages that the loops around the sites ask for, or need for their distance; 0: they leave it open.
  /// `max_chosen`: stages of a loop that several sites share.
  [[nodiscard]] std::int64_t requested_stages(std::int64_t max_chosen) const;
  /// Counts the sites of a site's block: so many uses an iteration.
  [[nodiscard]] std::int64_t sites_beside(FillSite const& site) const;
  /// Counts the stages that earlier sites of the block still hold when this one is filled.
  [[nodiscard]] std::int64_t held_before(FillSite const& site) const;
  /// Tells whether a loop around the sites takes its number of stages or none.
  [[nodiscard]] bool exact() const;
};

/// Rings whose sites stand in the same blocks; they share a counter of uses.
struct RingGroup {
  std::vector<Ring> rings;
  [[nodiscard]] std::vector<ir::Block*> blocks() const;
};

/// Groups the fetches of a kernel into rings, by where their tiles are read and released. Fetches that nobody reads are
/// erased, which sets `erased`. Nothing: a fetch is refused.
std::optional<std::vector<RingGroup>> find_rings(ir::Function& function, PassContext& context, bool& erased);

/// Reports that the pass cannot place a fetch.
void refuse_fetch(PassContext& context, ir::Op const& fetch, std::string const& why);

}  // namespace tegula::transform
