// Tests kernels whose blocks are computed in parts, on a device.
#include "kernels/divided_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("blocks whose sums no warps hold are computed in parts on a device", "[sanitize][B1]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_divided(Executor::device);
}
