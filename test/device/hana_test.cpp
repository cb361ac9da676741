// Tests tuples and structs of Boost.Hana on a device.
#include "kernels/hana_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("tuples and structs of Hana are parameters and groups on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_hana_rows(Executor::device);
  check_hana_search(Executor::device);
  check_hana_wide(Executor::device);
  check_hana_fifty(Executor::device);
}
