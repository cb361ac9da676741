// Tests unsigned integers on a device.
#include "kernels/unsigned_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("arithmetic, reductions, scans and atomics of unsigned integers are right on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_unsigned_elements(Executor::device);
}
