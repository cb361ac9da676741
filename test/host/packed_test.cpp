// Tests elements of 4 bits on the host and in both simulators.
#include "kernels/packed_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("all bytes unpack to elements of 4 bits and pack again") {
  for (Executor const on : executors_without_device) check_packed(on);
}
