// Tests tuples and structs of Boost.Hana on the host and in both simulators.
#include "kernels/hana_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("tuples and structs of Hana are parameters, carried by loops, passed to functions and returned from branches",
          "[L10]") {
  for (Executor const on : executors_without_device) check_hana_rows(on);
}

TEST_CASE("a tuple of Hana is carried until a condition fails", "[L10]") {
  for (Executor const on : executors_without_device) check_hana_search(on);
}

TEST_CASE("structs and tuples of Hana have more members than an aggregate", "[L10]") {
  STATIC_REQUIRE(decltype(hana_wide)::parameters::size == 38);
  STATIC_REQUIRE(decltype(hana_fifty)::parameters::size == 50);
  for (Executor const on : executors_without_device) {
    check_hana_wide(on);
    check_hana_fifty(on);
  }
}
