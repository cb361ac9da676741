// Tests products whose rows are no multiples of 16 bytes on a device, where threads copy the pieces that cover the rows
// and shift them. The memory of each operand ends with its last element.
#include "kernels/odd_rows.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("products of rows at any address are right on a device", "[sanitize]") {
  if (device::cuda_count() == 0) TEGULA_SKIP(device::cuda_status().c_str());
  constexpr Executor on = Executor::device;
  using Four = std::array<std::int64_t, 4>;
  for (std::int64_t const depth : {0, 1, 7, 64, 65, 331, 4097}) {
    check_odd_product<bf16, false, false>(on, Four{1, 70, 67, depth});
    check_odd_product<f16, false, true>(on, Four{2, 70, 67, depth});
    check_odd_product<bf16, true, true>(on, Four{2, 131, 66, depth});
    check_odd_product<e4m3, false, true>(on, Four{1, 69, 70, depth});
    check_odd_product<float, false, true, 64, 64, 32>(on, Four{1, 66, 61, depth});
    check_odd_product<bf16, false, false, 128, 256, 64, 4>(on, Four{1, 515, 519, depth});
    check_odd_product<bf16, false, false, 128, 128, 64, 4>(on, Four{2, 300, 258, depth});
    CompileOptions options;
    options.specialization = Choice::off;
    check_odd_product<bf16, false, false, 128, 128>(on, Four{1, 300, 258, depth}, {}, {}, options);
  }
  for (std::int64_t const begin : {1, 2, 5, 7}) {
    check_odd_product<bf16, false, false>(on, Four{1, 65, 64, 128}, {begin, begin}, {8 - begin, 3});
    check_odd_product<bf16, false, true>(on, Four{2, 33, 71, 77}, {4, begin}, {begin, 8});
  }
}
