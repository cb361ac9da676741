#include "support/checked_integer.hpp"

#include "support/catch.hpp"

using namespace tegula;
using support::Checked;
using support::trip_count;

namespace {

constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min(),
                       most = std::numeric_limits<std::int64_t>::max();

}  // namespace

TEST_CASE("checked integers: a result that does not fit is not a number, and stays so", "[support]") {
  CHECK((Checked(most) - 1).value() == most - 1);
  CHECK_FALSE((Checked(most) + 1).fits());
  CHECK_FALSE((Checked(least) - 1).fits());
  CHECK_FALSE((Checked(least) * -1).fits());
  CHECK_FALSE((Checked(std::int64_t{1} << 32) * (std::int64_t{1} << 31)).fits());
  CHECK_FALSE((Checked(most) + 1 - 1).fits());
  CHECK(Checked(-8).within(8));
  CHECK_FALSE(Checked(9).within(8));
  CHECK_FALSE(Checked(least).within(most));
}

TEST_CASE("trip counts of any bounds and steps, none divided by 0", "[support]") {
  CHECK(trip_count(0, 10, 3) == 4);
  CHECK(trip_count(0, 9, 3) == 3);
  CHECK(trip_count(5, 5, 1) == 0);
  CHECK(trip_count(6, 5, 1) == 0);
  CHECK(trip_count(0, 10, 0) == 0);
  CHECK(trip_count(0, 10, -1) == 0);
  CHECK(trip_count(0, 10, least) == 0);
  CHECK(trip_count(0, 10, most) == 1);
  CHECK(trip_count(least, most, most) == 3);
  CHECK(trip_count(least, most, 1) == most);
  CHECK(trip_count(-1, most, 2) == std::int64_t{1} << 62);
}
