// Tests tensors of more than 2^31 elements, the plan of arguments, and facts in types on a device.
#include <cstdint>
#include <vector>

#include "hand_written_ptx.hpp"
#include "support/catch.hpp"
#include "kernels/column_sums.hpp"
#include "support/large_memory.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::column_sums;
using tegula::test::ContainsSubstring;
using tegula::test::two_31;

namespace {

inline constexpr auto copy_far =
    kernel("copy_far", [](in<std::uint8_t, 1> x, out<std::uint8_t, 1> y, arg<std::int64_t> from, arg<std::int64_t> to) {
      grid(1);
      store(y, shape<256>, load(x, shape<256>, elem(from)), elem(to));
    });

inline constexpr auto shifted =
    kernel("shifted", [](in<float, 1> x, out<float, 1> y, arg<int, multiple_of<4>> from, arg<int, fixed<3>> times) {
      auto g = grid_over(y, shape<512>);
      store(y, shape<512>, load(x, shape<512>, elem(g[0] * 512 + from)) * cast<float>(times), g[0]);
    });

}  // namespace

TEST_CASE("a device loads and stores elements beyond 2^31 at their places", "[N9]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  constexpr std::int64_t elements = 2 * two_31 + 1024;  // 4 GiB
  buffer<std::uint8_t> memory(order.where(), elements);
  std::vector<std::uint8_t> values(256), back(256);
  for (int i = 0; i < 256; ++i) values[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(i * 7 + 3);
  buffer<std::uint8_t> small(order.where(), 256);
  for (std::int64_t const place : {std::int64_t{0}, two_31 - 128, two_31 + 1, 2 * two_31 - 100, elements - 256}) {
    small.copy_from(values);
    launch(order, copy_far, small, memory, 0, place);
    small.fill(0);
    launch(order, copy_far, memory, small, place, 0);
    small.copy_to(back);
    REQUIRE(back == values);
  }
}

TEST_CASE("explain shows the descriptors of a launch on a device", "[H3]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  buffer<float, 2> x(order.where(), 32, 640), y(order.where(), 1, 640);
  x.fill(2), y.fill(-1);
  std::string const text = explain(column_sums, x, y);
  INFO(text);
  CHECK_THAT(text, ContainsSubstring("argument 1: in %in0 32x640xf32 strides (640, 1); facts used: ") &&
                       ContainsSubstring("-> descriptor 1: box 16x64, ") && ContainsSubstring(" -> column_sums\n"));
}

TEST_CASE("facts in types are checked on a device, and bound its builds", "[N10]") {
  TEGULA_NEED_HOPPER();
  cuda_stream const order;
  buffer<float> x(order.where(), 2000), y(order.where(), 1024);
  x.fill(2);
  for (int from = 0; from < 40; from += 4) launch(order, shifted, x, y, from, 3);
  std::vector<float> out(1024);
  y.copy_to(out);
  CHECK(out == std::vector<float>(1024, 6));
  CHECK(builds(shifted).count == 1);
  CHECK_THROWS_WITH(launch(order, shifted, x, y, 6, 3),
                    ContainsSubstring("argument 3: the number is not a multiple of 4"));
  CHECK_THROWS_WITH(launch(order, shifted, x, y, 8, 4), ContainsSubstring("argument 4: the number is not 3"));
}
