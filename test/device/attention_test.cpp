// Tests attention with narrow and wide heads on a device.
#include "kernels/attention_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("attention is right on a device for heads of 16, 32, 64, 128 and 256", "[F42]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_all_heads(Executor::device, 3, 500, 700);
}
