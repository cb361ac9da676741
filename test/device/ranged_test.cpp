// Tests the kernels of test/kernels/ranged_kernels.hpp on a device.
#include "kernels/ranged_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("offsets of sequences and stated ranges are right on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_ranged_kernels(Executor::device);
}
