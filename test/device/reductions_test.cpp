// Tests reductions and scans on a device.
#include "kernels/reduction_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("products, places of extremes, masks and several axes at once are reduced on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_reductions(Executor::device);
}

TEST_CASE("scans are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_scans(Executor::device);
  check_scanned_product(Executor::device);
  check_running_rows(Executor::device);
}
