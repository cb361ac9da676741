#include "ir/values/trip_count.hpp"

#include "ir/core/builder.hpp"
#include "ir/core/loop.hpp"
#include "support/checked_integer.hpp"

namespace tegula::ir {

std::optional<std::int64_t> trip_count(Op const& op) {
  Loop const loop(op);
  auto const lower = constant_int(*loop.lower()), upper = constant_int(*loop.upper()),
             step = constant_int(*loop.step());
  if (loop.lower() == loop.upper() || (step && *step < 1) || (lower && upper && *lower >= *upper)) return 0;
  if (!lower || !upper || !step) return std::nullopt;
  return support::trip_count(*lower, *upper, *step);
}

}  // namespace tegula::ir
