// Tests counts, ranks and elements at places, and sorts of them, on a device.
#include "kernels/place_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("elements are counted, ranked, taken and put right on a device", "[sanitize][L11]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_places(Executor::device);
}

TEST_CASE("values of a long vector are counted on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  for (std::int64_t const n : {0, 1, 5000, 1 << 20, (1 << 20) + 77}) check_counted_values<8192>(Executor::device, n);
}

TEST_CASE("a radix sort orders keys and carries values on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_radix_sorts<1024>(Executor::device, 70000);
  check_radix_sorts<8192>(Executor::device, 1 << 20);
}
