// Products whose rows are no multiples of 16 bytes: operands that nothing copies are loaded an iteration ahead, also
// where CTAs divide the loop. Right on the host, as tiles and warp by warp.
#include <tegula/tegula.hpp>

#include <cmath>
#include <vector>

#include "support/catch.hpp"
#include "support/each_way.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

template <int BM, int BN, int BK>
constexpr auto product = kernel("odd_rows", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
  auto g = grid_over(c, shape<BM, BN>);
  tile sums = loop(
      ceil_div(a.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) { return dot(load(a, shape<BM, BK>, g[0], k), load(b, shape<BK, BN>, k, g[1]), sum); },
      stages<3>);
  store(c, shape<BM, BN>, sums, g[0], g[1]);
});

/// Multiplies by the transpose of b, N x K.
constexpr auto transposed = kernel("odd_views", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> c) {
  auto g = grid_over(c, shape<64, 64>);
  tile sums = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto k, auto sum) {
        return dot(load(a, shape<64, 64>, g[0], k), trans(load(b, shape<64, 64>, g[1], k)), sum);
      },
      stages<3>);
  store(c, shape<64, 64>, sums, g[0], g[1]);
});

template <class K>
void check_product(K const& kernel, CompileOptions const& options, std::int64_t rows, std::int64_t columns,
                   std::int64_t depth) {
  auto const a = drawn<bf16>(rows * depth, 5), b = drawn<bf16>(depth * columns, 6);
  INFO(rows << " x " << columns << " x " << depth << ", split " << options.split);
  each_way<float>(
      static_cast<std::size_t>(rows * columns),
      [&](auto const& way, float* c) {
        way(variants("odd_rows", variant(with(options), kernel)), view(a.data(), rows, depth),
            view(b.data(), depth, columns), view(c, rows, columns));
      },
      [&](std::vector<float> const& found) {
        double worst = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < depth; ++k) sum += at(a, i * depth + k) * at(b, k * columns + j);
            worst = std::max(worst, std::fabs(at(found, i * columns + j) - sum));
          }
        CHECK(worst <= 1e-4);
      });
}

}  // namespace

TEST_CASE("odd rows: operands that nothing copies run an iteration ahead") {
  check_product(product<64, 64, 32>, {}, 65, 72, 131);  // a by pointers
  check_product(product<64, 64, 32>, {}, 70, 41, 104);  // b
  check_product(product<16, 64, 64>, {}, 7, 33, 200);   // b, with operands exchanged
  check_product(product<64, 32, 32>, {}, 67, 35, 77);   // both
}

TEST_CASE("odd rows: warps store operands that they load for wgmma, with few rows and short depths too") {
  for (std::int64_t rows = 1; rows <= 9; rows += 4) check_product(product<64, 64, 64>, {}, rows, 5, 3);
  check_product(product<64, 64, 64>, {}, 63, 1, 65);
  check_product(product<128, 64, 64>, {}, 129, 67, 201);
  check_product(product<64, 128, 32>, {}, 66, 129, 95);
}

TEST_CASE("odd rows: operands are views at odd offsets, and transposed ones") {
  constexpr std::int64_t rows = 69, columns = 71, depth = 133;
  auto const a = drawn<bf16>((rows + 1) * (depth + 6), 7), b = drawn<bf16>((columns + 1) * (depth + 4), 8);
  view<bf16 const, 2> const left(a.data() + 3, {rows, depth}, {depth + 6, 1}),
      right(b.data() + 1, {columns, depth}, {depth + 4, 1});
  each_way<float>(
      static_cast<std::size_t>(rows * columns),
      [&](auto const& way, float* c) {
        way(variants("odd_views", variant(with(CompileOptions()), transposed)), left, right, view(c, rows, columns));
      },
      [&](std::vector<float> const& found) {
        double worst = 0;
        for (std::int64_t i = 0; i < rows; ++i)
          for (std::int64_t j = 0; j < columns; ++j) {
            double sum = 0;
            for (std::int64_t k = 0; k < depth; ++k)
              sum += at(a, 3 + i * (depth + 6) + k) * at(b, 1 + j * (depth + 4) + k);
            worst = std::max(worst, std::fabs(at(found, i * columns + j) - sum));
          }
        CHECK(worst <= 1e-4);
      });
}

TEST_CASE("odd rows: CTAs divide the loop") {
  check_product(product<16, 64, 64>, {.split = 4}, 7, 33, 456);
  check_product(product<64, 64, 32>, {.split = 2}, 65, 72, 131);
  check_product(product<64, 32, 32>, {.split = 4}, 67, 35, 243);
  check_product(product<64, 64, 64>, {.split = 4}, 67, 61, 515);
}
