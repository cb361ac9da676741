// Tests the bitwise contract of pairwise sums on the host and in both simulators.
#include "kernels/pairwise_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("pairwise sums have the bits of their tree, for every tile, number of stages and executor", "[N8]") {
  for (Executor const on : executors_without_device) check_pairwise_sums(on);
}
