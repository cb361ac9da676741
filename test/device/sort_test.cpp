// Tests sorted tiles and the largest elements on a device.
#include "kernels/sort_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("tiles are sorted right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_sorts(Executor::device);
}

TEST_CASE("the largest elements are found on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_largest_elements(Executor::device);
}
