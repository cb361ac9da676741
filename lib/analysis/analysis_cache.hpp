// Keeps the analyses of a module that passes ask for again and again, until a pass has changed something.
#pragma once

#include <optional>

#include "analysis/axis_facts.hpp"
#include "analysis/uniformity.hpp"

namespace tegula::analysis {

/// Computes each analysis of the whole module when it is first asked for. Analyses of one function that one pass needs
/// (hazards, live ranges) stay with that pass.
class AnalysisCache {
 public:
  explicit AnalysisCache(ir::Module const& module) : module_(&module) {}

  AxisFacts const& axis_facts() { return made(axis_facts_, *module_); }
  /// Compares the warps of one group.
  Uniformity const& uniformity() { return made(uniformity_, *module_); }
  /// Compares the warps of all replicas of a partition.
  Uniformity const& replica_uniformity() { return made(replica_uniformity_, *module_, true); }

  /// Forgets everything; a pass that asks again after its own changes calls this too.
  void clear() {
    axis_facts_.reset();
    uniformity_.reset();
    replica_uniformity_.reset();
  }

 private:
  template <class Analysis, class... Arguments>
  static Analysis const& made(std::optional<Analysis>& kept, Arguments const&... arguments) {
    return kept ? *kept : kept.emplace(arguments...);
  }

  ir::Module const* module_;
  std::optional<AxisFacts> axis_facts_;
  std::optional<Uniformity> uniformity_, replica_uniformity_;
};

}  // namespace tegula::analysis
