// Counts the uses of rings: which stage a fill or a wait means, and which phase of its mbarriers.
#pragma once

#include "ir/core/builder.hpp"
#include "transform/laid_out/ring_sites.hpp"

namespace tegula::transform {

/// Lets all loops and branches around a group's sites carry a counter, and sets `use` and `use_end` of each site.
void count_uses(RingGroup& group);

/// Holds use mod stages and use div stages.
struct RingSlot {
  ir::Value* stage;
  ir::Value* turn;
};
RingSlot slot_of(ir::Builder& builder, ir::Value* use, std::int64_t stages);

}  // namespace tegula::transform
