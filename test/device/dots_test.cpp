// Tests products on a device.
#include "kernels/dot_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("products of all elements, shapes and kinds of operands are right on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_dots(Executor::device);
}

TEST_CASE("products of named precisions and of batches are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_named_and_batched_dots(Executor::device);
}
