// Tests random numbers and counts of bits on the host and in both simulators.
#include "kernels/bits_kernels.hpp"
#include "kernels/random_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("the reference of random numbers has the published words") {
  // Known answers of the authors' library for philox4x32-10.
  CHECK(philox({0, 0, 0, 0}, {0, 0}) == std::array<std::uint32_t, 4>{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8});
  CHECK(philox({~0U, ~0U, ~0U, ~0U}, {~0U, ~0U}) ==
        std::array<std::uint32_t, 4>{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD});
}

TEST_CASE("random numbers are those of seed and place in every tile shape") {
  for (Executor const on : executors_without_device) {
    check_drawn<64>(on);
    check_drawn<1024>(on);
    check_dropout(on);
    check_drawn_in_rows<std::int32_t>(on);
    check_drawn_in_rows<std::int64_t>(on);
    check_dropout_of_halves<true>(on);
    check_dropout_of_halves<false>(on);
  }
}

TEST_CASE("bits are counted on the host and in both simulators") {
  for (Executor const on : executors_without_device) {
    check_counted_bits<int>(on);
    check_counted_bits<std::int64_t>(on);
    check_rotated_bits<int>(on);
    check_rotated_bits<std::uint64_t>(on);
    check_rounded_quotients<int>(on);
    check_rounded_quotients<std::uint64_t>(on);
    check_high_products<int>(on);
    check_high_products<std::uint32_t>(on);
    check_high_products<std::int64_t>(on);
    check_high_products<std::uint64_t>(on);
  }
}
