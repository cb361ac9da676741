// Tests the bitwise contract of pairwise sums on a device.
#include "kernels/pairwise_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("pairwise sums have the bits of their tree on a device", "[N8][sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_pairwise_sums(Executor::device);
}
