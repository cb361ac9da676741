// How often loops run, where their text tells it.
#pragma once

#include <cstdint>
#include <optional>

#include "ir/op.hpp"

namespace tegula::ir {

/// How often a for runs; nothing when that is not known before the launch. A step of 0 or less runs it never.
std::optional<std::int64_t> trip_count(Op const& loop);

}  // namespace tegula::ir
