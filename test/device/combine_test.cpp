// Tests reductions and scans by a combiner on a device.
#include "kernels/combine_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("reductions by a combiner are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_combined_reductions(Executor::device);
}

TEST_CASE("scans by a combiner are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_combined_scans(Executor::device);
}
