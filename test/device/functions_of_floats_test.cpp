// Tests the words of elementary functions on a device.
#include "kernels/math_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("every elementary function keeps the bound of its row on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_functions<float>(Executor::device);
  check_functions<double>(Executor::device);
  check_functions<bf16>(Executor::device);
}
