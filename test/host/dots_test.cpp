// Tests products on the host and in both simulators.
#include "kernels/dot_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("products of all elements, shapes and kinds of operands are right") {
  for (Executor const on : executors_without_device) check_dots(on);
}

TEST_CASE("products of named precisions and of batches are right") {
  for (Executor const on : executors_without_device) check_named_and_batched_dots(on);
}
