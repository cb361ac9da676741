// Tests structs and tuples of tiles on a device.
#include "kernels/group_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("structs of tiles are carried, passed and returned on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_grouped_rows(Executor::device);
  check_grouped_search(Executor::device);
}
