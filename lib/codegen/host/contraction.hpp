// Plans the operands of a contraction that blocks share: their dependences and their place in memory. Private to this
// folder.
#pragma once

#include <optional>
#include <vector>

#include "codegen/host/emitter.hpp"
#include "codegen/host/launch_steps.hpp"

namespace tegula::codegen::host {

/// Limits packing ahead: operands of more bytes are packed block by block.
inline constexpr std::int64_t workspace_limit = std::int64_t{4} << 30;

/// Holds the sizes of the packed operands of one chunk: some iterations of the loop.
struct ContractionLayout {
  ContractionLayout(FunctionEmitter& emitter, Contraction const& contraction);
  std::int64_t depth = 0;       ///< k of one iteration
  std::int64_t iterations = 0;  ///< in a chunk
  Buffer a, b;                  ///< rows of A, panels of B; without address
  Step step = Step::one;
  std::int64_t bytes[2] = {0, 0};  ///< with what the step needs to know of the packed elements
  std::int64_t known[2] = {0, 0};  ///< the offset of that
};

/// Finds the kernel's contraction whose operands are packed ahead, if there is one:
/// - it is in the outermost block,
/// - its bounds and the grid are launch expressions,
/// - an operand does not depend on every grid axis.
/// A launch whose grid has one block along the other axes packs the operand block by block.
class SharedOperands {
 public:
  SharedOperands(ir::Function const& kernel, Plan const& plan);
  [[nodiscard]] bool any() const { return operands_[0].has_value() || operands_[1].has_value(); }
  [[nodiscard]] Contraction const* contraction() const { return contraction_; }
  [[nodiscard]] std::optional<BlockDependence> const& operand(int side) const { return operands_[side]; }
  [[nodiscard]] std::vector<ir::Value const*> const& grid() const { return grid_; }

  struct Launch {
    std::int32_t units = 0;  ///< step: blocks of the pack phase
    std::int32_t bytes = 0;  ///< step: workspace
  };
  [[nodiscard]] Launch launch(LaunchSteps& steps, ContractionLayout const& layout) const;

 private:
  Contraction const* contraction_ = nullptr;
  std::optional<BlockDependence> operands_[2];
  std::vector<ir::Value const*> grid_;
};

}  // namespace tegula::codegen::host
