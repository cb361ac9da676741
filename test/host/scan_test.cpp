// Tests scans on the host and in both simulators.
#include "kernels/reduction_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("scans of all joins, directions and elements equal sequential float64") {
  for (Executor const on : executors_without_device) check_scans(on);
}

TEST_CASE("accumulators of products are scanned along both axes") {
  for (Executor const on : executors_without_device) check_scanned_product(on);
}

TEST_CASE("a loop carries totals from one scanned tile to the next") {
  for (Executor const on : executors_without_device) check_running_rows(on);
}
