// Kernels whose products need a plan: warpgroups that divide columns, warps that hold copies of a small product, chains
// of products that share a ring. Each is right on the host, as tiles and warp by warp, and takes the path that the plan
// promises without spills.
#include <tegula/tegula.hpp>

#include <cmath>
#include <functional>
#include <vector>

#include "support/catch.hpp"
#include "support/each_way.hpp"

using namespace tegula;

namespace {

using Numbers = std::vector<double>;

/// Compares with results in f64; the bound is of one rounding to bf16 and of sums in f32.
template <class T>
void check_close(std::vector<T> const& found, Numbers const& expected, double size) {
  double worst = 0;
  for (std::size_t i = 0; i < expected.size(); ++i)
    worst = std::max(worst, std::fabs(static_cast<double>(static_cast<float>(found[i])) - expected[i]));
  CHECK(worst <= size * 0x1p-8);
}

/// Runs a kernel every way: `run(way, output)`.
template <class T, class Run>
void check_everywhere(std::size_t size, Numbers const& expected, double bound, Run const& run) {
  test::each_way<T>(size, run, [&](std::vector<T> const& found) { check_close(found, expected, bound); });
}

template <int rows, int columns>
constexpr auto norms_of_rows = kernel("norms_of_rows", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid(ceil_div(C.extent(0), rows));
  tile y = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<rows, columns>),
      [&](auto k, auto sum) { return dot(load(A, shape<rows, 64>, g[0], k), load(B, shape<64, columns>, k, 0), sum); },
      stages<2>);
  store(C, shape<rows, columns>, y * rsqrt(sum(y * y, axis<1>) + 1), g[0], 0);
});

template <int taps>
constexpr auto unrolled_taps = kernel("unrolled_taps", [](in<bf16, 2> x, in<bf16, 3> w, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  tile acc = loop(
      ceil_div(x.extent(1), 32), zeros<float>(shape<64, 64>),
      [&](auto c, auto sum) {
        tile all = sum;
        for (int tap = 0; tap < taps; ++tap)
          all = dot(load(x, shape<64, 32>, elem(g[0] * 64 + (tap + 1 - taps)), c), load(w, shape<32, 64>, tap, c, g[1]),
                    all);
        return all;
      },
      stages<2>);
  store(y, shape<64, 64>, acc, g[0], g[1]);
});

/// Scores of 16 keys at a time beside sums of 128 columns, as decode with small pages has them.
constexpr auto small_pages = kernel("small_pages", [](in<bf16, 2> Q, in<bf16, 2> K, in<bf16, 2> V, out<float, 2> O) {
  auto g = grid_over(O, shape<8, 128>);
  tile q = load(Q, shape<8, 64>, g[0], 0);
  tile o = loop(
      ceil_div(K.extent(0), 16), zeros<float>(shape<8, 128>),
      [&](auto j, auto sum) {
        tile s = max(dot(q, trans(load(K, shape<16, 64>, j, 0))), 0);
        return dot(cast<bf16>(s), load(V, shape<16, 128>, j, 0), sum);
      },
      stages<3>);
  store(O, shape<8, 128>, o, g[0], 0);
});

template <class F>
void check_paths(Kernel<F> const& kernel, Path path, std::size_t products) {
  KernelFacts const found = facts(kernel);
  INFO(found.str());
  CHECK(found.dots.size() == products);
  for (DotPath const& dot : found.dots) CHECK(dot.path == path);
  CHECK(found.spill_bytes <= 0);  // -1 where there is no ptxas
}

template <int rows, int columns>
void check_norms(std::int64_t m, std::int64_t depth, unsigned seed) {
  INFO(rows << "x" << columns << ", " << m << " rows, K " << depth);
  auto const n = std::int64_t{columns};
  std::vector<bf16> const a = test::drawn<bf16>(m * depth, seed), b = test::drawn<bf16>(depth * n, seed + 1);
  Numbers expected(static_cast<std::size_t>(m * n));
  for (std::int64_t i = 0; i < m; ++i) {
    double squares = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::int64_t k = 0; k < depth; ++k)
        sum += static_cast<double>(static_cast<float>(a[static_cast<std::size_t>(i * depth + k)])) *
               static_cast<double>(static_cast<float>(b[static_cast<std::size_t>(k * n + j)]));
      expected[static_cast<std::size_t>(i * n + j)] = sum;
      squares += sum * sum;
    }
    for (std::int64_t j = 0; j < n; ++j) expected[static_cast<std::size_t>(i * n + j)] /= std::sqrt(squares + 1);
  }
  check_everywhere<float>(expected.size(), expected, 0.01, [&](auto const& way, float* c) {
    way(norms_of_rows<rows, columns>, view(a.data(), m, depth), view(b.data(), depth, n), view(c, m, n));
  });
}

}  // namespace

TEST_CASE("warpgroups divide the columns of a product whose rows they cannot hold", "[sim]") {
  check_paths(norms_of_rows<64, 512>, Path::wgmma, 1);
  check_norms<64, 512>(70, 150, 1);
  check_norms<64, 384>(64, 64, 3);
}

TEST_CASE("chains of products take turns with one ring at every number of trips", "[sim]") {
  check_paths(unrolled_taps<3>, Path::wgmma, 1);  // of one line
  for (std::int64_t const channels : {0, 24, 64, 104}) {
    constexpr int taps = 3;
    std::int64_t const time = 100, n = 72;
    INFO(channels << " channels");
    auto const x = test::drawn<bf16>(time * channels + 1, 7), w = test::drawn<bf16>(taps * channels * n + 1, 8);
    Numbers expected(static_cast<std::size_t>(time * n));
    for (std::int64_t t = 0; t < time; ++t)
      for (std::int64_t j = 0; j < n; ++j)
        for (std::int64_t tap = 0; tap < taps; ++tap)
          for (std::int64_t c = 0; c < channels && t + tap + 1 - taps >= 0; ++c)
            expected[static_cast<std::size_t>(t * n + j)] +=
                static_cast<double>(
                    static_cast<float>(x[static_cast<std::size_t>((t + tap + 1 - taps) * channels + c)])) *
                static_cast<double>(static_cast<float>(w[static_cast<std::size_t>((tap * channels + c) * n + j)]));
    check_everywhere<float>(expected.size(), expected, 1, [&](auto const& way, float* y) {
      way(unrolled_taps<taps>, view(x.data(), time, channels), view(w.data(), std::int64_t{taps}, channels, n),
          view(y, time, n));
    });
  }
}

TEST_CASE("warps hold copies of a product that is too small for all of them", "[sim]") {
  for (DotPath const& dot : facts(small_pages).dots) CHECK(dot.path != Path::lanes);
  std::int64_t const queries = 13, keys = 37;
  auto const q = test::drawn<bf16>(queries * 64, 11), k = test::drawn<bf16>(keys * 64, 12),
             v = test::drawn<bf16>(keys * 128, 13);
  Numbers expected(static_cast<std::size_t>(queries * 128));
  for (std::int64_t i = 0; i < queries; ++i)
    for (std::int64_t j = 0; j < keys; ++j) {
      double score = 0;
      for (std::int64_t c = 0; c < 64; ++c)
        score += static_cast<double>(static_cast<float>(q[static_cast<std::size_t>(i * 64 + c)])) *
                 static_cast<double>(static_cast<float>(k[static_cast<std::size_t>(j * 64 + c)]));
      double const weight = static_cast<double>(static_cast<float>(bf16(static_cast<float>(std::max(score, 0.0)))));
      for (std::int64_t c = 0; c < 128; ++c)
        expected[static_cast<std::size_t>(i * 128 + c)] +=
            weight * static_cast<double>(static_cast<float>(v[static_cast<std::size_t>(j * 128 + c)]));
    }
  check_everywhere<float>(expected.size(), expected, 16, [&](auto const& way, float* o) {
    way(small_pages, view(q.data(), queries, std::int64_t{64}), view(k.data(), keys, std::int64_t{64}),
        view(v.data(), keys, std::int64_t{128}), view(o, queries, std::int64_t{128}));
  });
}
