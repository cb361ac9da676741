// Multiplies matrices of e4m3 whose blocks have scales: each 1 x 128 elements of one, each 128 x 128 of the other.
#include "block_scaled_kernels.hpp"
#include "support/report.hpp"

using namespace tegula;

int main() {
  return samples::guarded("26_block_scaled", [] {
    constexpr std::int64_t block = samples::scale_block;
    std::int64_t const m = 72, n = 200, k = 720, blocks = (k + block - 1) / block,
                       column_blocks = (n + block - 1) / block;
    device const where = device::best();
    stream const order(where);
    auto const a = samples::random_values<e4m3>(m * k), b = samples::random_values<e4m3>(n * k);
    auto a_scales = samples::random_values<float>(m * blocks);
    auto b_scales = samples::random_values<float>(column_blocks * blocks);
    auto const device_a = samples::filled<e4m3, 2>(where, a, m, k), device_b = samples::filled<e4m3, 2>(where, b, n, k);
    auto const device_a_scales = samples::filled<float, 2>(where, a_scales, m, blocks);
    auto const device_b_scales = samples::filled<float, 2>(where, b_scales, column_blocks, blocks);
    auto c = samples::poisoned<bf16, 2>(where, m, n);
    double const seconds = samples::best_seconds(
        order,
        prepare(where, samples::block_scaled_product<64, 64>, device_a, device_a_scales, device_b, device_b_scales, c),
        3);

    std::vector<double> const exact_a = samples::exact(a), exact_b = samples::exact(b);
    std::vector<double> expected;
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t l = 0; l < k; ++l) {
          float const of_row = a_scales[static_cast<std::size_t>(i * blocks + l / block)],
                      of_column = b_scales[static_cast<std::size_t>(j / block * blocks + l / block)];
          sum += exact_a[static_cast<std::size_t>(i * k + l)] * exact_b[static_cast<std::size_t>(j * k + l)] *
                 static_cast<double>(of_row) * static_cast<double>(of_column);
        }
        expected.push_back(sum);
      }
    std::vector<bf16> found(expected.size());
    c.copy_to(found);
    return samples::report("26_block_scaled", samples::text(m, " x ", n, " x ", k), where, seconds,
                           2e-9 * static_cast<double>(m * n * k) / seconds, "GFLOP/s",
                           samples::compare(found, expected, 1, 1e-2));
  });
}
