// Tests a simulation's report of the executor, kernels that the GPU refuses, and tensors longer than TMA's coordinates.
#include "launch_support.hpp"
#include "support/catch.hpp"
#include "kernels/product_onto.hpp"
#include "tegula/target/tma_rules.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;
using tegula::test::FreshCaches;

namespace {

inline constexpr auto doubled = kernel("doubled", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(x, shape<64>, g[0]) * 2, g[0]);
});

/// Defines a kernel whose tile fills the registers of eight multiprocessors 32 times: too many to spill, also where
/// CTAs of a cluster share the rows.
inline constexpr auto wide = kernel("wide", [](in<float, 2> x, out<float, 2> y) {
  auto at = grid_over(y, shape<4096, 4096>);
  tile v = load(x, shape<4096, 4096>, at[0], at[1]);
  store(y, shape<4096, 4096>, v / sum(v, axis<1>), at[0], at[1]);
});

/// Defines a kernel whose rings need twice the shared memory of a multiprocessor.
inline constexpr auto oversized = kernel("oversized", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
  auto at = grid_over(c, shape<128, 256>);
  tile sums = loop(
      ceil_div(a.extent(1), 256), zeros<float>(shape<128, 256>),
      [&](auto k, auto acc) {
        return dot(load(a, shape<128, 256>, at[0], k), load(b, shape<256, 256>, k, at[1]), acc);
      },
      exactly(stages<2>));
  store(c, shape<128, 256>, sums, at[0], at[1]);
});

}  // namespace

TEST_CASE("a simulation reports tiles or warps, the passes and the arithmetic") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> const x(200, 3);
  std::vector<float> y(200);
  simulation const tiles = simulate(doubled, x, y);
  CHECK(tiles.executor == simulation::Executor::tiles);
  CHECK(tiles.pipeline.empty());
  CHECK_FALSE(tiles.exact);
  CHECK(tiles.blocks == 4);
  for (bool const exact : {false, true}) {
    support::Options options = support::options();
    options.exact = exact;
    support::ScopedOptions const scope(options);
    simulation const warps = simulate(doubled, x, y, schedule::seed(1));
    CHECK(warps.executor == simulation::Executor::warps);
    CHECK_THAT(warps.pipeline, ContainsSubstring("assign-layouts"));
    CHECK(warps.exact == exact);
    CHECK(warps.blocks == 4);
    CHECK(y[199] == 6);
  }
}

TEST_CASE("warps of a kernel that the GPU refuses are an error with the compiler's reason, not tiles") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<float> const x(4096 * 4096, 0.5f);
  std::vector<float> y(4096 * 4096, -1);
  auto const by_warps = [&] {
    simulate(wide, view(x.data(), 4096, 4096), view(y.data(), 4096, 4096), schedule::seed(7));
  };
  CHECK_THROWS_WITH(by_warps(),
                    ContainsSubstring("wide: the kernel cannot run on sm_90a, so its warps cannot be simulated: ") &&
                        ContainsSubstring("registers") && ContainsSubstring("without a schedule"));
  CHECK(y[17] == -1);
  CHECK(simulate(wide, view(x.data(), 4096, 4096), view(y.data(), 4096, 4096)).executor == simulation::Executor::tiles);
  CHECK(y[17] == 1.0f / 4096);

  std::vector<bf16> const a(128 * 256, bf16(1)), b(256 * 256, bf16(1));
  std::vector<float> c(128 * 256, -1);
  auto const run = [&](auto const&... order) {
    return simulate(oversized, view(a.data(), 128, 256), view(b.data(), 256, 256), view(c.data(), 128, 256), order...);
  };
  CHECK_THROWS_WITH(run(schedule::latest()), ContainsSubstring("shared memory") && ContainsSubstring("232448"));
  CHECK(c == std::vector<float>(128 * 256, -1));

  support::Options options = support::options();
  options.simulate = true;
  options.simulate_schedule = "seed:1";
  support::ScopedOptions const scope(options);
  CHECK_THROWS_AS(launch(host_stream(), wide, view(x.data(), 4096, 4096), view(y.data(), 4096, 4096)), UserError);
}

TEST_CASE("a grid without blocks runs warp by warp, with clusters too") {
  FreshCaches const fresh(support::CacheMode::off);
  std::vector<f16> const a(64), b(64 * 64);
  std::vector<float> c(64);
  for (CompileOptions const& options : {CompileOptions(), CompileOptions{.split = 2}, CompileOptions{.share = 2}}) {
    INFO("split " << options.split << ", share " << options.share);
    simulation const found =
        simulate(with(options), test::product_onto<64, 64, 64>, view<f16 const, 2>(a.data(), {0, 64}),
                 view(b.data(), 64, 64), view<float, 2>(c.data(), {0, 64}), schedule::seed(1));
    CHECK(found.clean);
    CHECK(found.blocks == 0);
  }
}

TEST_CASE("a tensor with an axis longer than TMA's coordinates runs by pointers") {
  FreshCaches const fresh(support::CacheMode::off);
  constexpr std::int64_t tile = 64, depth = 128;
  std::vector<f16> a(depth), b(depth * tile);
  for (std::size_t i = 0; i < a.size(); ++i) a[i] = f16(static_cast<float>(i % 5) - 2);
  for (std::size_t i = 0; i < b.size(); ++i) b[i] = f16(static_cast<float>(i % 7) - 3);
  for (std::int64_t const rows : {tma_rule::max_extent, tma_rule::max_extent + tile, std::int64_t{5} << 30}) {
    INFO(rows << " rows");
    view<f16 const, 2> const equal_rows(a.data(), {rows, depth}, {0, 1});
    std::vector<float> host(2 * tile * tile, -1), warps(2 * tile * tile, -1);
    std::int64_t const from = rows / tile - 1;  // the last tile of rows, and one outside of the tensor
    launch(host_stream(), test::product_from, equal_rows, view(b.data(), depth, tile),
           view(host.data(), 2 * tile, tile), from);
    CHECK(host[tile * tile - 1] != 0);
    CHECK(host[tile * tile] == 0);
    simulation const found = simulate(test::product_from, equal_rows, view(b.data(), depth, tile),
                                      view(warps.data(), 2 * tile, tile), from, schedule::seed(1));
    CHECK(found.clean);
    CHECK(found.executor == simulation::Executor::warps);
    CHECK(warps == host);
  }
}
