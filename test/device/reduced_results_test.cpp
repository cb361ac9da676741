// Tests results that are stored and reduced along both axes, on a device.
#include "kernels/reduced_results.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("results are stored and reduced along both axes on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_reduced_results(Executor::device);
}
