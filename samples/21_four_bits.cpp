// Multiplies few rows by weights of 4 bits with a scale and a zero point for each group of 128.
#include "four_bit_kernels.hpp"
#include "support/report.hpp"

using namespace tegula;

int main() {
  return samples::guarded("21_four_bits", [] {
    constexpr int group = 128;
    std::int64_t const rows = 5, columns = 200, depth = 512, groups = depth / group;
    device const where = device::best();
    stream const order(where);
    auto const x = samples::random_values<bf16>(rows * depth);
    std::vector<std::uint8_t> q;  // two weights each
    for (double w : samples::exact(samples::random_values<float>(columns * depth / 2)))
      q.push_back(static_cast<std::uint8_t>((w + 1) * 127.9));
    std::vector<bf16> zeros, scales;
    for (double w : samples::exact(samples::random_values<float>(columns * groups))) {
      zeros.push_back(bf16(std::floor((w + 1) * 8)));
      scales.push_back(bf16(w * 0.1));
    }
    auto const device_x = samples::filled<bf16, 2>(where, x, rows, depth);
    auto const device_q = samples::filled<std::uint8_t, 2>(where, q, columns, depth / 2);
    auto const device_scales = samples::filled<bf16, 2>(where, scales, columns, groups);
    auto const device_zeros = samples::filled<bf16, 2>(where, zeros, columns, groups);
    auto y = samples::poisoned<bf16, 2>(where, rows, columns);
    double const seconds = samples::best_seconds(
        order,
        prepare(where, samples::four_bit_product<16, 64, group>, device_x, device_q, device_scales, device_zeros, y),
        3);

    std::vector<double> expected;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t n = 0; n < columns; ++n) {
        double sum = 0;
        for (std::int64_t k = 0; k < depth; ++k) {
          int const byte = q[static_cast<std::size_t>((n * depth + k) / 2)];
          auto const at = static_cast<std::size_t>(n * groups + k / group);
          double const moved = (k % 2 == 0 ? byte & 15 : byte >> 4) - static_cast<double>(zeros[at]);
          bf16 const weight(moved * static_cast<double>(scales[at]));  // rounded as the kernel does
          sum += static_cast<double>(x[static_cast<std::size_t>(i * depth + k)]) * static_cast<double>(weight);
        }
        expected.push_back(sum);
      }
    std::vector<bf16> found(expected.size());
    y.copy_to(found);
    return samples::report("21_four_bits", "5 x 200 x 512", where, seconds,
                           2e-9 * static_cast<double>(rows * columns * depth) / seconds, "GFLOP/s",
                           samples::compare(found, expected, 1, 8e-3));
  });
}
