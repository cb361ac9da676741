#include "ir/trip_count.hpp"

#include "ir/builder.hpp"
#include "support/checked_integer.hpp"

namespace tegula::ir {

std::optional<std::int64_t> trip_count(Op const& loop) {
  auto const lower = constant_int(*loop.operand(0)), upper = constant_int(*loop.operand(1)),
             step = constant_int(*loop.operand(2));
  if (loop.operand(0) == loop.operand(1) || (step && *step < 1) || (lower && upper && *lower >= *upper)) return 0;
  if (!lower || !upper || !step) return std::nullopt;
  return support::trip_count(*lower, *upper, *step);
}

}  // namespace tegula::ir
