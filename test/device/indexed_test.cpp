// Tests accesses whose indices are values, and loops that carry scalars, on a device.
#include "kernels/while_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("loads of scalars, gathers, scatters and atomics are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_loads_of_scalars(Executor::device);
  check_gathers(Executor::device);
  check_all_atomics(Executor::device);
}

TEST_CASE("loops that carry scalars and while_ are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_while(Executor::device);
}
