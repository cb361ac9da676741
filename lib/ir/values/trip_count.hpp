// Counts the iterations of loops whose text states them.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Counts the iterations of a for; empty when they are not known before the launch; 0 for a step of 0 or less.
std::optional<std::int64_t> trip_count(Op const& op);

}  // namespace tegula::ir
