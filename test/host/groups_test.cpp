// Tests structs and tuples of tiles on the host and in both simulators.
#include "kernels/group_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("structs of tiles are carried by loops, passed to functions and returned from branches") {
  for (Executor const on : executors_without_device) check_grouped_rows(on);
}

TEST_CASE("groups of groups, tuples and scalars are carried until a condition fails") {
  for (Executor const on : executors_without_device) check_grouped_search(on);
}
