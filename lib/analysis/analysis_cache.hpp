// Analyses of one module, computed when first asked for, dropped when a pass changed something.
#pragma once

#include <memory>

#include "analysis/axis_facts.hpp"

namespace tegula::analysis {

class AnalysisCache {
 public:
  explicit AnalysisCache(ir::Module const& module) : module_(&module) {}

  AxisFacts const& axis_facts() {
    if (!axis_facts_) axis_facts_ = std::make_unique<AxisFacts>(*module_);
    return *axis_facts_;
  }
  /// Forgets everything; a pass that asks again after its own changes calls this too.
  void clear() { axis_facts_.reset(); }

 private:
  ir::Module const* module_;
  std::unique_ptr<AxisFacts> axis_facts_;
};

}  // namespace tegula::analysis
