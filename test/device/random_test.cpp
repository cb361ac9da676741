// Tests random numbers and counts of bits on a device.
#include "kernels/bits_kernels.hpp"
#include "kernels/random_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("random numbers are those of seed and place on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_drawn<64>(Executor::device);
  check_drawn<1024>(Executor::device);
  check_dropout(Executor::device);
  check_drawn_in_rows<std::int32_t>(Executor::device);
  check_drawn_in_rows<std::int64_t>(Executor::device);
  check_dropout_of_halves<true>(Executor::device);
  check_dropout_of_halves<false>(Executor::device);
}

TEST_CASE("bits are counted on a device") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  check_counted_bits<int>(Executor::device);
  check_counted_bits<std::int64_t>(Executor::device);
  check_rotated_bits<int>(Executor::device);
  check_rotated_bits<std::uint64_t>(Executor::device);
  check_rounded_quotients<int>(Executor::device);
  check_rounded_quotients<std::uint64_t>(Executor::device);
  check_high_products<int>(Executor::device);
  check_high_products<std::uint32_t>(Executor::device);
  check_high_products<std::int64_t>(Executor::device);
  check_high_products<std::uint64_t>(Executor::device);
}
