// Tests the kernels of test/kernels/packed_kernels.hpp on a device.
#include "kernels/packed_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("elements of 4 bits are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_packed(Executor::device);
}
