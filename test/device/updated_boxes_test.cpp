// Tests atomics that change whole boxes, on a device.
#include "kernels/updated_boxes.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("atomics of boxes are right on a device", "[sanitize][F29]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_boxes(Executor::device);
}
