// Tests loops that carry scalars, while_ and branches that give scalars, on the host and in both simulators.
#include "kernels/while_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("loops and branches carry scalars, and while_ ends when its condition fails") {
  for (Executor const on : executors_without_device) check_while(on);
}
