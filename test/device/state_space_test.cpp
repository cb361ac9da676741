// Tests recurrences that are computed in chunks of tokens, on a device.
#include "kernels/recurrences.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("recurrences in chunks agree with the recurrence on a device", "[sanitize][W7]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_state_space<64, 64, 64>(Executor::device, {1, 150, 4, 2});
  check_state_space<64, 128, 128>(Executor::device, {2, 200, 2, 1});
  check_delta_rule<32, 64, 64, 32>(Executor::device, {1, 75, 2, 2});
  check_delta_rule<64, 128, 128, 128>(Executor::device, {2, 200, 1, 1});
}
