// Tests unsigned integers on the host and in both simulators.
#include "kernels/unsigned_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("arithmetic, reductions, scans and atomics of unsigned integers are right") {
  for (Executor const on : executors_without_device) check_unsigned_elements(on);
}
