// Tests the words of elementary functions on the host and in both simulators.
#include "kernels/math_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("every elementary function keeps the bound of its row in kernels") {
  for (Executor const on : executors_without_device) {
    check_functions<float>(on);
    check_functions<double>(on);
    check_functions<bf16>(on);
    check_functions<f16>(on);
  }
}
