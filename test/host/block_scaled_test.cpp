// Tests products whose loop adds scaled results of products to a sum: whole, by CTAs that split the loop, and in tiles
// whose sums leave no registers for several products at once.
#include <cmath>
#include <random>

#include "../../samples/block_scaled_kernels.hpp"
#include "support/catch.hpp"
#include "support/executors.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr int block = samples::scale_block;

template <class T>
Array<T, 2> random_matrix(std::int64_t rows, std::int64_t columns, float least, float most, std::mt19937& random) {
  Array<T, 2> result({rows, columns});
  std::uniform_real_distribution<float> any(least, most);
  for (T& value : result.values) value = T(any(random));
  return result;
}

double number(auto value) { return static_cast<double>(static_cast<float>(value)); }

template <int BM, int BN, samples::ScaleOrder order>
void check_product(Executor executor, CompileOptions const& options, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::mt19937 random(static_cast<unsigned>(m * 7 + n * 1000 + k));
  std::int64_t const blocks = (k + block - 1) / block;
  constexpr bool rows_first = order == samples::ScaleOrder::rows_first;
  auto a = random_matrix<e4m3>(m, k, -2, 2, random), b = random_matrix<e4m3>(n, k, -2, 2, random);
  auto a_scales = rows_first ? random_matrix<float>(m, blocks, 0.5, 1.5, random)
                             : random_matrix<float>(blocks, m, 0.5, 1.5, random);
  auto b_scales = random_matrix<float>((n + block - 1) / block, blocks, 0.5, 1.5, random);
  auto c = random_matrix<bf16>(m, n, -1, 1, random);
  INFO(name(executor) << ": " << m << " x " << n << " x " << k << " in tiles of " << BM << " x " << BN << ", split "
                      << options.split);
  auto const product =
      variants("block_scaled_product", variant(with(options), samples::block_scaled_product<BM, BN, order>));
  TEGULA_CHECK_RUN(executor, product, a, a_scales, b, b_scales, c);
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = 0, size = 0;
      for (std::int64_t l = 0; l < k; ++l) {
        double const scale = number(a_scales[rows_first ? i * blocks + l / block : l / block * m + i]) *
                             number(b_scales[j / block * blocks + l / block]);
        double const term = number(a[i * k + l]) * number(b[j * k + l]) * scale;
        sum += term;
        size += term * term;
      }
      double const bound = std::abs(sum) / 250 + 1e-3 * std::sqrt(size) + 1e-6;  // of bf16, and of sums in f32
      worst = std::max(worst, std::abs(number(c[i * n + j]) - sum) / bound);
    }
  CHECK(worst < 1);
}

}  // namespace

TEST_CASE("sums of scaled products are right, whole and split") {
  using enum samples::ScaleOrder;
  for (Executor const executor : {Executor::host, Executor::tiles, Executor::warps}) {
    check_product<64, 64, rows_first>(executor, {}, 70, 136, 400);
    check_product<64, 64, rows_first>(executor, {.split = 2}, 70, 128, 512);
    check_product<64, 64, blocks_first>(executor, {.split = 3}, 68, 128, 640);
    check_product<64, 128, blocks_first>(executor, {.split = 4}, 64, 128, 1024);
    check_product<128, 128, blocks_first>(executor, {}, 132, 144, 272);
  }
}
