// Estimates of launches: what is counted, and how kernels compare.
#include <cmath>

#include "jit/estimate.hpp"
#include "support/catch.hpp"
#include "runtime/matrix_argument.hpp"
#include "tegula/dsl/dsl.hpp"

using namespace tegula;
using jit::Estimate;
using tegula::runtime::matrix_argument;

namespace {

template <int m, int n, int k>
inline constexpr auto product = kernel("product", [](in<bf16, 2> a, in<bf16, 2> b, out<bf16, 2> c) {
  auto g = grid_over(c, shape<m, n>);
  tile sum = loop(ceil_div(a.extent(1), k), zeros<float>(shape<m, n>), [&](auto i, auto acc) {
    return dot(load(a, shape<m, k>, g[0], i), load(b, shape<k, n>, i, g[1]), acc);
  });
  store(c, shape<m, n>, cast<bf16>(sum), g[0], g[1]);
});

/// Sums the rows up to that of the block: the trips depend on the block.
inline constexpr auto prefix = kernel("prefix", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 128>);
  tile sum = loop(g[0] + 1, zeros<float>(shape<1, 128>),
                  [&](auto i, auto acc) { return acc + load(x, shape<1, 128>, i, g[1]); });
  store(y, shape<1, 128>, exp(sum), g[0], g[1]);
});

jit::Executor const h200{&sm_90a, 132};

template <class K>
Estimate of_product(K const& kernel, std::int64_t m, std::int64_t n, std::int64_t k,
                    CompileOptions const& options = {}) {
  Argument const arguments[] = {matrix_argument(Element::bf16, m, k), matrix_argument(Element::bf16, k, n),
                                matrix_argument(Element::bf16, m, n)};
  return jit::estimate(kernel.trace(), arguments, {}, options, h200);
}

}  // namespace

TEST_CASE("an estimate counts blocks, products and bytes by the trips of loops", "[N15]") {
  Estimate const found = of_product(product<128, 256, 64>, 1000, 4096, 2048);
  CHECK(found.blocks == 8 * 16);
  CHECK(found.product_bytes == Approx(128.0 * 256 * 2048 * 2));
  // Eight tiles of 128 rows cover the 1000.
  CHECK(found.loaded_bytes == Approx((128.0 * 1000 / 1024 + 256) * 2048 * 2));
  CHECK(found.stored_bytes == Approx(128.0 * 256 * 2));
  CHECK(found.seconds > 0);

  Argument const arguments[] = {matrix_argument(Element::f32, 100, 256), matrix_argument(Element::f32, 100, 256)};
  Estimate const sums = jit::estimate(prefix.trace(), arguments, {}, {}, h200);
  CHECK(sums.blocks == 200);
  CHECK(sums.loaded_bytes == Approx(51 * 128 * 4));  // of the block in the middle
  CHECK(sums.arithmetic == Approx(51 * 128));
  CHECK(sums.functions == Approx(128));

  GridOverride grid;
  grid.given = true;
  grid.rank = 2;
  grid.extents[0] = 2;
  grid.extents[1] = 10;
  CHECK(jit::estimate(prefix.trace(), arguments, grid, {}, h200).blocks == 20);
}

TEST_CASE("estimates prefer large tiles for large products, and full multiprocessors for small ones", "[N15]") {
  for (std::int64_t const extent : {4096, 8192}) {
    double const large = of_product(product<128, 256, 64>, extent, extent, extent).seconds;
    double const middle = of_product(product<128, 128, 64>, extent, extent, extent).seconds;
    double const small = of_product(product<64, 64, 64>, extent, extent, extent).seconds;
    CHECK(large < middle);
    CHECK(middle < small);
  }
  CHECK(of_product(product<64, 64, 64>, 512, 512, 512).seconds <
        of_product(product<128, 256, 64>, 512, 512, 512).seconds);
  CompileOptions split;
  split.split = 4;
  CHECK(of_product(product<64, 64, 64>, 128, 128, 16384, split).seconds <
        of_product(product<64, 64, 64>, 128, 128, 16384).seconds);
  CHECK(of_product(product<64, 64, 64>, 8192, 8192, 1024, split).seconds >
        of_product(product<64, 64, 64>, 8192, 8192, 1024).seconds);
  // Parts of 64 KB from each of three CTAs have no room in one, but shares of them in each.
  CHECK(of_product(product<128, 128, 64>, 128, 128, 16384, split).seconds <
        of_product(product<128, 128, 64>, 128, 128, 16384).seconds);
  // A depth of one iteration leaves nothing to share, and the CTAs meet all the same.
  CHECK(of_product(product<64, 64, 64>, 128, 2560, 32, split).seconds >
        1.2 * of_product(product<64, 64, 64>, 128, 2560, 32).seconds);
  // Sums of 128 KB have none beside the stages: the product is not split.
  CHECK(of_product(product<128, 256, 64>, 128, 128, 16384, split).seconds ==
        of_product(product<128, 256, 64>, 128, 128, 16384).seconds);
}

TEST_CASE("estimates share fetches where rows of the right operand lie across lines", "[N15]") {
  CompileOptions shared;
  shared.share = 2;
  Estimate const apart = of_product(product<128, 256, 64>, 8192, 1000, 4104);
  CHECK(apart.lines - apart.stored_bytes / 128 == Approx(apart.loaded_bytes / 128 * (2 - 16.0 / 128)));
  CHECK(of_product(product<128, 256, 64>, 8192, 1000, 4104, shared).seconds < apart.seconds);
  Estimate const aligned = of_product(product<128, 256, 64>, 8192, 8192, 8192);
  CHECK(aligned.lines == Approx((aligned.loaded_bytes + aligned.stored_bytes) / 128));
  CHECK(of_product(product<128, 256, 64>, 8192, 8192, 8192, shared).seconds >= aligned.seconds);
  // One row of tiles: a CTA of each pair would have no work.
  CHECK(of_product(product<128, 256, 64>, 128, 8192, 4096, shared).blocks == 64);
}

TEST_CASE("estimates see the latency that stages do not cover, and what lies outside of a tensor", "[N15]") {
  auto const with_stages = [](int stages, std::int64_t extent) {
    CompileOptions options;
    options.stages = stages;
    return of_product(product<64, 64, 64>, extent, extent, extent, options);
  };
  REQUIRE(with_stages(4, 1024).rings.size() == 1);
  Estimate const four = with_stages(4, 1024);
  CHECK(four.rings[0].trips == 16);
  CHECK(four.rings[0].stages == 4);
  CHECK(four.rings[0].iteration.loaded_bytes == Approx(2.0 * 64 * 64 * 2));
  CHECK(with_stages(8, 1024).seconds < four.seconds);
  CHECK(four.seconds < with_stages(2, 1024).seconds);
  CHECK(with_stages(8, 256).seconds == with_stages(4, 256).seconds);  // four trips: all loads are in flight at once
  // One row of A is fetched, whatever the tile; fewer rows in a tile leave room for more stages.
  CHECK(of_product(product<16, 64, 128>, 1, 4096, 4096).loaded_bytes == Approx((1.0 + 64) * 4096 * 2));
  CHECK(of_product(product<64, 64, 128>, 1, 4096, 4096).loaded_bytes == Approx((1.0 + 64) * 4096 * 2));
}

TEST_CASE("an estimate takes any extents", "[N15]") {
  for (std::int64_t const extent : {std::int64_t{0}, std::int64_t{1}, std::int64_t{1} << 40}) {
    Estimate const found = of_product(product<128, 256, 64>, extent, 3, extent);
    CHECK(std::isfinite(found.seconds));
    CHECK(found.seconds > 0);
  }
}
