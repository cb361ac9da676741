// Tests kernels whose blocks a GPU computes in parts, on the host and in both simulators.
#include "kernels/divided_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("blocks whose sums no warps hold are computed in parts", "[B1]") {
  for (Executor const on : executors_without_device) check_divided(on);
}
