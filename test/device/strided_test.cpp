// Tests tensors that TMA cannot copy on a device.
#include "kernels/strided_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("negative and zero strides and odd addresses are right on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_strided(Executor::device);
}
