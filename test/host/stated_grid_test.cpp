// Tests that a grid stated in a launch is the kernel's own grid, numbers of tiles, on every executor.
#include <functional>
#include <numeric>

#include "launch_support.hpp"
#include "support/catch.hpp"
#include "kernels/product_onto.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;
using tegula::test::FreshCaches;

namespace {

constexpr auto const& product = test::product_onto<64, 64, 64>;

/// Defines a persistent kernel, its tiles uneven along the first axis: pairs of them are dealt.
inline constexpr auto triangle = kernel("triangle", [](in<f16, 2> a, in<f16, 2> b, inout<float, 2> c) {
  auto at = grid_over(c, shape<64, 64>);
  tile sums = loop(at[0] + 1, zeros<float>(shape<64, 64>), [&](auto k, auto acc) {
    return dot(load(a, shape<64, 64>, at[0], k), load(b, shape<64, 64>, k, at[1]), acc);
  });
  store(c, shape<64, 64>, sums + load(c, shape<64, 64>, at[0], at[1]), at[0], at[1]);
});

inline constexpr auto counted = kernel("counted", [](inout<float, 1> x) {
  auto at = grid_over(x, shape<8>);
  store(x, shape<8>, load(x, shape<8>, at[0]) + 1, at[0]);
});

inline constexpr auto flat = kernel("flat", [](inout<float, 2> x) {
  auto at = grid_over(x, shape<4, 8>);
  store(x, shape<4, 8>, load(x, shape<4, 8>, at[0], at[1]) + 1, at[0], at[1]);
});

constexpr std::int64_t rows = 3 * 64 - 10, columns = 2 * 64 + 5, depth = 192;

struct Matrices {
  std::vector<f16> a = std::vector<f16>(rows * depth), b = std::vector<f16>(depth * columns);
  std::vector<float> c = std::vector<float>(rows * columns, 1);
  Matrices() {
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = f16(static_cast<float>(i % 5) - 2);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = f16(static_cast<float>(i % 7) - 3);
  }
};

/// Returns the contents of c after a kernel, run in one way.
template <class Run>
std::vector<float> result(Run const& run) {
  Matrices m;
  run(view(m.a.data(), rows, depth), view(m.b.data(), depth, columns), view(m.c.data(), rows, columns));
  return m.c;
}

template <class K, class... Counts>
void check(K const& kernel, Counts... counts) {
  auto const host = result([&](auto... x) { launch(host_stream(), kernel, grid(counts...), x...); });
  auto const tiles = result([&](auto... x) { REQUIRE(simulate(kernel, grid(counts...), x...).clean); });
  auto const warps = result([&](auto... x) {
    simulation const found = simulate(kernel, grid(counts...), x..., schedule::seed(3));
    INFO(found.report);
    REQUIRE(found.clean);
    CHECK(found.executor == simulation::Executor::warps);
  });
  CHECK(host == tiles);
  CHECK(warps == tiles);
  // Of each tile the last element within the matrix: written if the grid has the tile.
  auto const at = [](std::int64_t tile, std::int64_t extent) { return std::min(tile * 64 + 63, extent - 1); };
  std::int64_t const given[] = {static_cast<std::int64_t>(counts)...};
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 3; ++j) {
      INFO("tile " << i << ", " << j);
      float const value = tiles[static_cast<std::size_t>(at(i, rows) * columns + at(j, columns))];
      if (i >= given[0] || j >= given[1]) CHECK(value == 1);
    }
}

}  // namespace

TEST_CASE("a stated grid is a number of tiles for persistent kernels too, on host, as tiles and warp by warp") {
  FreshCaches const fresh(support::CacheMode::off);
  check(product, 1, 1);
  check(product, 2, 3);
  check(product, 0, 3);
  check(product, 4, 5);  // elements beyond the tensor are dropped
  check(triangle, 1, 2);
  check(triangle, 3, 1);
  Matrices m;
  auto const before = m.c;
  launch(host_stream(), product, grid(0, 0), view(m.a.data(), rows, depth), view(m.b.data(), depth, columns),
         view(m.c.data(), rows, columns));
  CHECK(m.c == before);
}

TEST_CASE("a stated grid holds for one launch, prepared ones too") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> x(32, 0);
  auto const touched = [&] { return std::accumulate(x.begin(), x.end(), 0.0f); };
  launch(host_stream(), counted, x);
  CHECK(touched() == 32);
  launch(host_stream(), counted, grid(2), x);
  CHECK(touched() == 48);
  launch(host_stream(), counted, x);
  CHECK(touched() == 80);
  prepared const go = prepare(counted, grid(1), x);
  go(host_stream());
  go(host_stream());
  CHECK(touched() == 96);
  CHECK_THAT(explain(counted, grid(3), x), ContainsSubstring("grid: 3 x 1 x 1 blocks, given in the launch"));
  prepared first = prepare(counted, grid(1), x);
  prepared const second = std::move(first);
  CHECK_THROWS_WITH(first(host_stream()), ContainsSubstring("moved from"));
  auto const start = jit::counters();
  launch(host_stream(), counted, grid(3), x);
  CHECK(jit::counters().compilations == start.compilations);  // one variant for all grids
}

TEST_CASE("a stated grid of another rank, with a negative number or too many blocks is refused by every executor") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> x(32, 0);
  std::int64_t const large = std::int64_t{1} << 62;
  auto const each = [&](auto const& given, std::string const& text) {
    CHECK_THROWS_WITH(launch(host_stream(), counted, given, x), ContainsSubstring(text));
    CHECK_THROWS_WITH(prepare(counted, given, x), ContainsSubstring(text));
    CHECK_THROWS_WITH(explain(counted, given, x), ContainsSubstring(text));
    CHECK_THROWS_WITH(simulate(counted, given, x), ContainsSubstring(text));
    CHECK_THROWS_WITH(simulate(counted, given, x, schedule::seed(1)), ContainsSubstring(text));
  };
  each(grid(2, 3), "counted: grid(2, 3) given in the launch has rank 2, but the kernel's own grid has 1");
  each(grid(-2), "counted: grid(-2) given in the launch: -2 blocks, at least 0 are needed");
  CHECK_THROWS_WITH(launch(host_stream(), flat, grid(8, large), view(x.data(), 4, 8)),
                    ContainsSubstring("more blocks than the 2147483647 that can be launched on the host"));
  CHECK_THROWS_WITH(simulate(flat, grid(8, large), view(x.data(), 4, 8)), ContainsSubstring("more blocks"));
  CHECK_THROWS_WITH(simulate(counted, grid((std::int64_t{1} << 30) + 1), x),
                    ContainsSubstring("1073741824 can be simulated"));
  CHECK_THROWS_WITH(simulate(counted, grid(std::int64_t{1} << 31), x, schedule::seed(1)),
                    ContainsSubstring("more blocks than the 2147483647 that can be launched on a GPU"));
  CHECK_THROWS_WITH(simulate(product, grid(1), view<f16 const, 2>(nullptr, 0, 0), view<f16 const, 2>(nullptr, 0, 0),
                             view<float, 2>(nullptr, 0, 0)),
                    ContainsSubstring("grid(1) given in the launch has rank 1, but the kernel's own grid has 2"));
  CHECK(x == std::vector<float>(32, 0));
}
