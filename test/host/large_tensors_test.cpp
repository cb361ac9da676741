// Tests tensors of more than 2^31 elements, in memory of which only the pages that a kernel accesses exist.
#include <sys/mman.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "support/catch.hpp"
#include "support/large_memory.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;
using tegula::test::LargeMemory;
using tegula::test::two_31;

namespace {

inline constexpr auto copy_far =
    kernel("copy_far", [](in<float, 1> x, out<float, 1> y, arg<std::int64_t> from, arg<std::int64_t> to) {
      grid(1);
      store(y, shape<64>, load(x, shape<64>, elem(from)) + 1, elem(to));
    });

inline constexpr auto copy_tile =
    kernel("copy_tile", [](in<float, 1> x, out<float, 1> y, arg<std::int64_t> tile_number) {
      grid(1);
      store(y, shape<64>, load(x, shape<64>, tile_number) + 1, tile_number);
    });

inline constexpr auto copy_rows = kernel("copy_rows", [](in<std::uint8_t, 2> x, out<std::uint8_t, 2> y) {
  auto g = grid_over(y, shape<2, 64>);
  store(y, shape<2, 64>, load(x, shape<2, 64>, g[0], g[1]), g[0], g[1]);
});

inline constexpr auto gathered = kernel("gathered", [](in<float, 1> x, in<std::int64_t, 1> at, inout<float, 1> y) {
  auto g = grid_over(at, shape<64>);
  tile places = load(at, shape<64>, g[0]);
  scatter(y, gather(x, places) + 1, places);
});

inline constexpr auto counted = kernel("counted", [](in<std::int64_t, 1> at, inout<std::int32_t, 1> y) {
  auto g = grid_over(at, shape<64>);
  atomic_add(y, full(shape<64>, 1), load(at, shape<64>, g[0]));
});

}  // namespace

TEST_CASE("elements beyond 2^31 are loaded and stored at their places", "[N9]") {
  constexpr std::int64_t elements = 2 * two_31 + 1000;  // more than 32 bits count, and 16 GiB
  LargeMemory x_memory(elements * 4), y_memory(elements * 4);
  if (!x_memory || !y_memory) TEGULA_SKIP("the system does not give an address range of 32 GiB");
  view<float, 1> const x(x_memory.as<float>(), elements), y(y_memory.as<float>(), elements);
  std::int64_t const places[] = {0, two_31 - 32, two_31, two_31 + 1, 2 * two_31 - 63, 2 * two_31 + 100, elements - 10};
  for (std::int64_t const from : places)
    for (std::int64_t const to : places) {
      std::int64_t const count = std::min<std::int64_t>({64, elements - from, elements - to});
      for (std::int64_t i = 0; i < count; ++i) {
        x(from + i) = static_cast<float>(from % 1000 + i);
        y(to + i) = -1;
      }
      launch(host_stream(), copy_far, x, y, from, to);
      for (std::int64_t i = 0; i < count; ++i) REQUIRE(y(to + i) == static_cast<float>(from % 1000 + i + 1));
    }
  // Tiles are counted: the element is 64 times the number.
  for (std::int64_t const number : {two_31 / 64, 2 * two_31 / 64 - 1, 2 * two_31 / 64 + 3}) {
    x(number * 64 + 63) = 5;
    launch(host_stream(), copy_tile, x, y, number);
    CHECK(y(number * 64 + 63) == 6);
  }
  // Numbers that wrap in 32 bits are outside, not elsewhere.
  y(7) = -1;
  launch(host_stream(), copy_far, x, view<float, 1>(y.data(), 1000), 0, (std::int64_t{1} << 32) + 7);
  CHECK(y(7) == -1);
}

TEST_CASE("elements beyond 2^31 are gathered, scattered and counted at their places", "[N9]") {
  constexpr std::int64_t elements = 2 * two_31 + 1000;
  LargeMemory x_memory(elements * 4), y_memory(elements * 4);
  if (!x_memory || !y_memory) TEGULA_SKIP("the system does not give an address range of 32 GiB");
  view<float, 1> const x(x_memory.as<float>(), elements), y(y_memory.as<float>(), elements);
  std::vector<std::int64_t> at;
  for (int i = 0; i < 64; ++i) at.push_back(i * (elements / 64) + 17 * i % 5);
  at[63] = elements - 1;
  for (std::int64_t const place : at) x(place) = static_cast<float>(place % 997);
  launch(host_stream(), gathered, x, at, y);
  for (std::int64_t const place : at) CHECK(y(place) == static_cast<float>(place % 997 + 1));

  view<std::int32_t, 1> const counters(reinterpret_cast<std::int32_t*>(x_memory.as<float>()), elements);
  for (std::int64_t const place : at) counters(place) = 5;
  launch(host_stream(), counted, at, counters);
  for (std::int64_t const place : at) CHECK(counters(place) == 6);
}

TEST_CASE("rows that lie more than 2^31 elements apart are found, also backwards", "[N9]") {
  constexpr std::int64_t stride = 2 * two_31 + 64, rows = 4, columns = 100;
  LargeMemory memory(stride * rows);
  if (!memory) TEGULA_SKIP("the system does not give an address range of 17 GiB");
  auto* const first = memory.as<std::uint8_t>();
  for (int row = 0; row < rows; ++row)
    for (int column = 0; column < columns; ++column)
      first[row * stride + column] = static_cast<std::uint8_t>(row * 31 + column);
  std::vector<std::uint8_t> y(rows * columns);
  launch(host_stream(), copy_rows, view<std::uint8_t, 2>(first, {rows, columns}, {stride, 1}),
         view(y.data(), rows, columns));
  for (int i = 0; i < rows * columns; ++i) REQUIRE(y[static_cast<std::size_t>(i)] == (i / columns * 31 + i % columns));
  launch(host_stream(), copy_rows, view<std::uint8_t, 2>(first + 3 * stride, {rows, columns}, {-stride, 1}),
         view(y.data(), rows, columns));
  for (int i = 0; i < rows * columns; ++i)
    REQUIRE(y[static_cast<std::size_t>(i)] == ((3 - i / columns) * 31 + i % columns));
}

TEST_CASE("the CPU reports offsets that overflow 64 bits, and a checked kernel traps where an index wraps", "[N9]") {
  float value = 0;
  std::vector<float> y(100);
  view<float, 1> const huge(&value, {std::int64_t{1} << 61}, {4});
  CHECK_THROWS_WITH(launch(host_stream(), copy_far, huge, y, 0, 0), ContainsSubstring("argument 1: "));
  CompileOptions options;
  options.checks.overflow = true;
  constexpr auto multiplied = kernel("multiplied", [](in<float, 1> x, out<float, 1> z, arg<std::int64_t> n) {
    grid(1);
    store(z, shape<64>, load(x, shape<64>, elem(n * n)), elem(0));
  });
  std::vector<float> const x(100, 1);
  CHECK_NOTHROW(launch(host_stream(), with(options), multiplied, x, y, 3));
  CHECK_THROWS_WITH(launch(host_stream(), with(options), multiplied, x, y, 4'000'000'000),
                    ContainsSubstring("mul of i64 wraps, and an index follows from it"));
}
