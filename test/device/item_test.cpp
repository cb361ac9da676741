// Tests scalars that are made of tiles, on a device.
#include "kernels/item_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("elements of tiles are indices, bounds and conditions on a device", "[sanitize][L1]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_items(Executor::device);
}
