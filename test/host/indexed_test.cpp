// Tests accesses whose indices are values, on the host and in both simulators.
#include "kernels/indexed_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("an element of a tensor serves as index, as bound of a loop and in a condition") {
  for (Executor const on : executors_without_device) check_loads_of_scalars(on);
}

TEST_CASE("tiles of indices gather and scatter, with masks and indices outside the tensor") {
  for (Executor const on : executors_without_device) check_gathers(on);
}

TEST_CASE("contended atomics are right in any order of blocks", "[F29]") {
  for (Executor const on : executors_without_device) check_all_atomics(on);
}
