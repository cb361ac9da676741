// Tests accesses at indices that run on a device.
#include "kernels/running_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("elements at indices that run come and go right on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_running(Executor::device);
}
