// Computes at run time what a comparison's sum needs where its scalars may be large.
#pragma once

#include "analysis/coordinate_sums.hpp"
#include "ir/core/builder.hpp"

namespace tegula::transform {

/// Returns the scalars of a sum as i64, the large ones clamped, and whether the sum decides its comparison then.
class LargeScalars {
 public:
  LargeScalars(ir::Builder& builder, analysis::ComparedSum const& sum) : builder_(builder), sum_(sum) {}

  /// Returns a scalar of the sum, so that the sum does not wrap.
  ir::Value* of(ir::Value* scalar);
  /// Returns a boolean, true where the sum decides; null: it always does.
  ir::Value* decides();

 private:
  ir::Value* as_index(ir::Value* scalar);

  ir::Builder& builder_;
  analysis::ComparedSum const& sum_;
};

}  // namespace tegula::transform
