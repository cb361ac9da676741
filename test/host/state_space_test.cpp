// Tests recurrences that are computed in chunks of tokens, on the host and in both simulators.
#include "kernels/recurrences.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("state-space models in chunks agree with the recurrence", "[W7]") {
  for (Executor const on : executors_without_device) {
    check_state_space<64, 64, 64>(on, {1, 150, 4, 2});
    check_state_space<32, 128, 64>(on, {2, 70, 1, 1});
  }
  check_state_space<64, 128, 128>(Executor::warps, {1, 130, 2, 1});
  check_state_space<128, 64, 128>(Executor::warps, {1, 140, 1, 1});
}

TEST_CASE("the gated delta rule in chunks agrees with the recurrence, where keys repeat too", "[W7]") {
  for (Executor const on : executors_without_device) {
    check_delta_rule<32, 64, 64, 32>(on, {1, 75, 2, 2});
    check_delta_rule<64, 64, 64, 64>(on, {2, 130, 1, 1});
  }
  check_delta_rule<64, 128, 128, 64>(Executor::warps, {1, 70, 1, 1});
  check_delta_rule<64, 128, 128, 128>(Executor::warps, {1, 70, 1, 1});
}
