// Tests scalars that are made of tiles, on the host and in both simulators.
#include "kernels/item_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("elements of tiles are indices, bounds and conditions", "[L1]") {
  for (Executor const on : executors_without_device) check_items(on);
}
