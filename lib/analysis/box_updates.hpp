// Finds atomics that change a whole box of a tensor, which the copy engine can do.
#pragma once

#include <optional>
#include <vector>

#include "ir/core/op.hpp"

namespace tegula::analysis {

/// Holds where a box begins along an axis of its tensor: at an i64 scalar, or without one at a number.
struct BoxOffset {
  ir::Value* value = nullptr;
  std::int64_t number = 0;
  [[nodiscard]] bool is_zero() const { return value == nullptr && number == 0; }
};
using BoxOffsets = std::vector<BoxOffset>;

/// Returns the place of the box that an atomic changes. Each index of a tile's axis counts that axis from a scalar on,
/// as `iota`, `add` of `splat`, and `broadcast` make it; those of the axes before are scalars. Nothing if the indices
/// are others, if the old elements are used, or if the update orders other accesses. Nothing, too, if the copy engine
/// has no such operation: it adds f16, bf16, f32, i32, u32, and takes min and max of i32 and u32.
std::optional<BoxOffsets> updated_box(ir::Op const& op);

}  // namespace tegula::analysis
