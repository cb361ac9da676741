#include "ir/values/integer_range.hpp"

#include <limits>
#include <random>
#include <vector>

#include "support/catch.hpp"
#include "tegula/math/functions.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

std::int64_t computed(OpKind kind, std::int64_t a, std::int64_t b) {
  switch (kind) {
    case OpKind::AddOp:
      return math::wrapping_add(a, b);
    case OpKind::SubOp:
      return math::wrapping_sub(a, b);
    case OpKind::MulOp:
      return math::wrapping_mul(a, b);
    case OpKind::DivOp:
      return math::div(a, b);
    case OpKind::CeilDivOp:
      return math::ceil_div(a, b);
    case OpKind::RemOp:
      return math::rem(a, b);
    case OpKind::MinOp:
      return std::min(a, b);
    default:
      return std::max(a, b);
  }
}

}  // namespace

TEST_CASE("integer ranges: results of arithmetic lie in the range, also where they wrap") {
  std::vector<std::int64_t> const edges = {lowest,
                                           lowest + 1,
                                           -(std::int64_t{1} << 47),
                                           -7,
                                           -1,
                                           0,
                                           1,
                                           2,
                                           5,
                                           std::int64_t{1} << 31,
                                           std::int64_t{1} << 47,
                                           highest - 1,
                                           highest};
  for (OpKind const kind : {OpKind::AddOp, OpKind::SubOp, OpKind::MulOp, OpKind::DivOp, OpKind::CeilDivOp,
                            OpKind::RemOp, OpKind::MinOp, OpKind::MaxOp})
    for (std::int64_t const a0 : edges)
      for (std::int64_t const a1 : edges)
        for (std::int64_t const b0 : edges)
          for (std::int64_t const b1 : edges) {
            if (a0 > a1 || b0 > b1) continue;
            IntegerRange const range = arithmetic_range(kind, {a0, a1}, {b0, b1}, Element::i64).range;
            for (std::int64_t const a : edges)
              for (std::int64_t const b : edges) {
                if (a < a0 || a > a1 || b < b0 || b > b1) continue;
                std::int64_t const result = computed(kind, a, b);
                if (result < range.min || result > range.max) {
                  CAPTURE(static_cast<int>(kind), a, b, a0, a1, b0, b1, range.min, range.max);
                  FAIL("outside");
                }
              }
          }
}

TEST_CASE("integer ranges: sums and products that fit are exact, and those that may wrap say so") {
  CHECK(arithmetic_range(OpKind::AddOp, {1, 2}, {10, 20}, Element::i64).range == IntegerRange{11, 22});
  CHECK(arithmetic_range(OpKind::SubOp, {1, 2}, {10, 20}, Element::i64).range == IntegerRange{-19, -8});
  CHECK(arithmetic_range(OpKind::MulOp, {-3, 2}, {-5, 7}, Element::i64).range == IntegerRange{-21, 15});
  CHECK(arithmetic_range(OpKind::MulOp, {0, max_grid_blocks}, {4096, 4096}, Element::i64).may_wrap == false);
  ResultRange const wraps = arithmetic_range(OpKind::MulOp, {0, max_grid_blocks}, {0, highest}, Element::i64);
  CHECK(wraps.may_wrap);
  CHECK(wraps.range == IntegerRange{lowest, highest});
  CHECK(arithmetic_range(OpKind::AddOp, {0, 2147483647}, {0, 1}, Element::i32).may_wrap);
  CHECK(cast_range({0, 1L << 40}, Element::i32).may_wrap);
  CHECK(arithmetic_range(OpKind::MaxOp, {0, 4}, {2, 3}, Element::u64).range == IntegerRange());
}

TEST_CASE("integer ranges: a counter ends below the upper bound, or where no run gets") {
  CHECK(counter_range({0, 0}, {0, 10}, {1, 1}) == IntegerRange{0, 9});
  CHECK(counter_range({0, 0}, {}, {1, 1}) == IntegerRange{0, max_iterations});
  CHECK(counter_range({-4, 6}, {}, {2, 8}) == IntegerRange{-4, 6 + 8 * max_iterations});
  CHECK(counter_range({0, highest}, {}, {1, 1}) == IntegerRange{0, highest - 1});
  CHECK(counter_range({5, 6}, {0, 1}, {1, 1}).min == 5);
}
