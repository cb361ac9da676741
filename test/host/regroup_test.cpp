// Tests ops that give tiles other shapes on the host and in both simulators.
#include "kernels/regroup_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("tiles are reshaped, sliced, flipped, joined and split as row-major arithmetic says", "[L8]") {
  for (Executor const on : executors_without_device) {
    check_regrouped<float>(on);
    check_regrouped<bf16>(on);
    check_regrouped<double>(on);
    check_regrouped<int>(on);
  }
}

TEST_CASE("kernels that regroup carried tiles, masks, places and operands of products are right") {
  for (Executor const on : executors_without_device) check_regrouped_kernels(on);
}
