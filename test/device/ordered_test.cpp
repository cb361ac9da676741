// Tests the kernels of test/kernels/ordered_kernels.hpp on a device.
#include "kernels/ordered_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("atomics with orders and scopes are right on a device", "[F29][sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_ordered_changes(Executor::device);
  for (int times = 0; times < 20; ++times) check_ordered_kernels(Executor::device);
}
