// Tests sorted tiles and the largest elements on the host and in both simulators.
#include "kernels/sort_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("tiles are sorted stably, with their places and with values, of any extent; NaN come last") {
  for (Executor const on : executors_without_device) check_sorts(on);
}

TEST_CASE("the largest elements are found with their places") {
  for (Executor const on : executors_without_device) check_largest_elements(on);
}
