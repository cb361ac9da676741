// Tests reductions on the host and in both simulators.
#include "kernels/reduction_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("products, places of extremes, masks and several axes at once are reduced") {
  for (Executor const on : executors_without_device) check_reductions(on);
}
