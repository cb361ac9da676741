// Tests the family of attention on a device.
#include "kernels/attention_family.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("the family of attention is right on a device", "[F42]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_attention_family<64>(Executor::device);
  check_attention_family<128>(Executor::device);
}
