// Tests ops that give tiles other shapes on a device.
#include "kernels/regroup_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("tiles are reshaped, sliced, flipped, joined and split right on a device", "[sanitize][L8]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_regrouped<float>(Executor::device);
  check_regrouped<f16>(Executor::device);
  check_regrouped<std::int64_t>(Executor::device);
  check_regrouped_kernels(Executor::device);
}
