#include "support/checked_integer.hpp"

#include "support/catch.hpp"

using namespace tegula;
using support::Checked;
using support::trip_count;

namespace {

constexpr std::int64_t min = std::numeric_limits<std::int64_t>::min(), max = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("checked integers: a result that does not fit is not a number, and stays so", "[support]") {
  CHECK((Checked(max) - 1).value() == max - 1);
  CHECK_FALSE((Checked(max) + 1).fits());
  CHECK_FALSE((Checked(min) - 1).fits());
  CHECK_FALSE((Checked(min) * -1).fits());
  CHECK_FALSE((Checked(std::int64_t{1} << 32) * (std::int64_t{1} << 31)).fits());
  CHECK_FALSE((Checked(max) + 1 - 1).fits());
  CHECK(Checked(-8).within(8));
  CHECK_FALSE(Checked(9).within(8));
  CHECK_FALSE(Checked(min).within(max));
}

TEST_CASE("trip counts of any bounds and steps, none divided by 0", "[support]") {
  CHECK(trip_count(0, 10, 3) == 4);
  CHECK(trip_count(0, 9, 3) == 3);
  CHECK(trip_count(5, 5, 1) == 0);
  CHECK(trip_count(6, 5, 1) == 0);
  CHECK(trip_count(0, 10, 0) == 0);
  CHECK(trip_count(0, 10, -1) == 0);
  CHECK(trip_count(0, 10, min) == 0);
  CHECK(trip_count(0, 10, max) == 1);
  CHECK(trip_count(min, max, max) == 3);
  CHECK(trip_count(min, max, 1) == max);
  CHECK(trip_count(-1, max, 2) == std::int64_t{1} << 62);
}
