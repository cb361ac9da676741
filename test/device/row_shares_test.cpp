// Tests softmax of rows that a warp, a CTA or a cluster holds, on a device.
#include "kernels/row_shares.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("shares of rows are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_row_shares(Executor::device);
}
