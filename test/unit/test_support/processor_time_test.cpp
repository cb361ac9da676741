// Tests limits on processor time.
#include "support/processor_time.hpp"

#include "support/catch.hpp"

using namespace tegula::test;

TEST_CASE("a limit on time grows with the slowness of the machine", "[unit]") {
  double const yardstick = yardstick_seconds();
  INFO(yardstick << " s");
  CHECK(in_time(2.9, 3));
  CHECK(in_time(yardstick, 0.2));
  CHECK(!in_time(10 * yardstick, 0.2));
}
