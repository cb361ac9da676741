// Tests products whose loop adds scaled results of products to a sum: whole, by CTAs that split the loop, and in tiles
// whose sums leave no registers for several products at once.
#include <cmath>
#include <random>
#include <utility>
#include <vector>

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

/// Returns row i of `a` times row j of `b`, with their scales, and a bound of its error as bf16.
std::pair<double, double> scaled_product(e4m3 const* a, float const* a_scales, e4m3 const* b, float const* b_scales,
                                         std::int64_t k) {
  double sum = 0, size = 0;
  for (std::int64_t l = 0; l < k; ++l) {
    double const term = number(a[l]) * number(b[l]) * number(a_scales[l / block]) * number(b_scales[l / block]);
    sum += term;
    size += term * term;
  }
  return {sum, std::abs(sum) / 250 + 1e-3 * std::sqrt(size) + 1e-6};
}

template <class T, int rank>
Array<T, rank> random_array(std::array<std::int64_t, rank> extents, float least, float most, std::mt19937& random) {
  Array<T, rank> result(extents);
  std::uniform_real_distribution<float> any(least, most);
  for (T& value : result.values) value = T(any(random));
  return result;
}

/// Groups have so many rows; each begins at a multiple of BM, and rows behind its last are in no group.
template <int BM, int BN>
void check_groups(Executor executor, std::vector<std::int64_t> const& sizes, std::int64_t n, std::int64_t k) {
  std::mt19937 random(static_cast<unsigned>(n * 1000 + k));
  std::int64_t const blocks = (k + block - 1) / block, of_n = (n + block - 1) / block;
  std::vector<int> group_of_row;
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    group_of_row.insert(group_of_row.end(), static_cast<std::size_t>(sizes[group]), static_cast<int>(group));
    group_of_row.resize((group_of_row.size() + BM - 1) / BM * BM, static_cast<int>(group));
  }
  group_of_row.insert(group_of_row.end(), BM, -1);  // a block that is not wanted
  auto const m = static_cast<std::int64_t>(group_of_row.size()), all = static_cast<std::int64_t>(sizes.size());
  auto a = random_array<e4m3, 2>({m, k}, -2, 2, random);
  auto b = random_array<e4m3, 3>({all, n, k}, -2, 2, random);
  auto a_scales = random_array<float, 2>({m, blocks}, 0.5, 1.5, random);
  auto b_scales = random_array<float, 3>({all, of_n, blocks}, 0.5, 1.5, random);
  Array<int, 1> groups({m});
  groups.values = group_of_row;
  Array<bf16, 2> c({m, n}, bf16(99.0F));
  INFO(name(executor) << ": " << all << " groups, " << n << " x " << k << " in tiles of " << BM << " x " << BN);
  TEGULA_CHECK_RUN(executor, (samples::block_scaled_groups<BM, BN>), a, a_scales, b, b_scales, groups, c);
  double worst = 0;
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      std::int64_t const group = group_of_row[static_cast<std::size_t>(i)];
      auto const [sum, bound] = group < 0 ? std::pair(99.0, 1e-6)
                                          : scaled_product(&a[i * k], &a_scales[i * blocks], &b[(group * n + j) * k],
                                                           &b_scales[(group * of_n + j / block) * blocks], k);
      worst = std::max(worst, std::abs(number(c[i * n + j]) - sum) / bound);
    }
  CHECK(worst < 1);
}

/// Each group has room for m rows, of which it has so many.
template <int BM, int BN>
void check_batch(Executor executor, std::vector<int> const& sizes, std::int64_t m, std::int64_t n, std::int64_t k) {
  std::mt19937 random(static_cast<unsigned>(m + n * 1000 + k));
  std::int64_t const blocks = (k + block - 1) / block, of_n = (n + block - 1) / block;
  auto const all = static_cast<std::int64_t>(sizes.size());
  auto a = random_array<e4m3, 3>({all, m, k}, -2, 2, random), b = random_array<e4m3, 3>({all, n, k}, -2, 2, random);
  auto a_scales = random_array<float, 3>({all, m, blocks}, 0.5, 1.5, random);
  auto b_scales = random_array<float, 3>({all, of_n, blocks}, 0.5, 1.5, random);
  Array<int, 1> counts({all});
  counts.values = sizes;
  Array<bf16, 3> c({all, m, n}, bf16(99.0F));
  INFO(name(executor) << ": " << all << " groups of " << m << " x " << n << " x " << k << " in tiles of " << BM << " x "
                      << BN);
  TEGULA_CHECK_RUN(executor, (samples::block_scaled_batch<BM, BN>), a, a_scales, b, b_scales, counts, c);
  double worst = 0;
  for (std::int64_t group = 0; group < all; ++group)
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        std::int64_t const count = sizes[static_cast<std::size_t>(group)], row = group * m + i;
        if (i >= count && i < (count + BM - 1) / BM * BM) continue;  // of a wanted block
        auto const [sum, bound] = i >= count
                                      ? std::pair(99.0, 1e-6)
                                      : scaled_product(&a[row * k], &a_scales[row * blocks], &b[(group * n + j) * k],
                                                       &b_scales[(group * of_n + j / block) * blocks], k);
        worst = std::max(worst, std::abs(number(c[row * n + j]) - sum) / bound);
      }
  CHECK(worst < 1);
}

}  // namespace

TEST_CASE("sums of scaled products of groups are right, and blocks that are not wanted stay as they are", "[W3]") {
  for (Executor const executor : executors_without_device) {
    check_groups<64, 64>(executor, {70, 0, 64, 3}, 136, 272);
    check_batch<64, 64>(executor, {70, 0, 130, 64}, 130, 72, 272);
  }
  check_groups<128, 128>(Executor::warps, {130, 5}, 256, 384);
  check_batch<128, 128>(Executor::warps, {256, 1}, 256, 128, 256);
}

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
