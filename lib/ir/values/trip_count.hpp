// Counts the iterations of loops whose text states them.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Counts the iterations of a for; empty when they are not known before the launch. A step of 0 or less gives 0.
std::optional<std::int64_t> trip_count(Op const& op);

}  // namespace tegula::ir
