// Describes the log of a kernel by the op that begins it.
#pragma once

#include "ir/core/op.hpp"
#include "tegula/abi/profile_format.hpp"

namespace tegula::ir {

/// Returns rows, slots and order of a log; names, roles and strategy are filled by analysis::profile_layout.
inline ProfileLayout log_layout(ProfileBeginOp const& begin) {
  ProfileLayout layout;
  layout.circular = begin.circular;
  layout.rows = static_cast<std::int32_t>(begin.rows);
  layout.slots = static_cast<std::int32_t>(begin.slots);
  return layout;
}

/// Returns the first word of an entry.
inline std::uint32_t log_tag(ProfileAppendOp const& entry) {
  bool const starts = entry.event == RecordEvent::start;
  return profile_tag(starts ? ProfileSlotKind::start : ProfileSlotKind::stop, entry.number, entry.stops);
}

}  // namespace tegula::ir
