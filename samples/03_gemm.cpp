// Computes a matrix product of bf16 with the bias and the activation fused into its end. The activation is also tried
// here, on the host, at compile time.
#include <algorithm>

#include "kernels.hpp"
#include "support/report.hpp"

using namespace tegula;

static_assert(samples::bias_relu(host(2.f), host(-3.f)) == 0.f);
static_assert(samples::bias_relu(host(2.f), host(-0.5f)) == 1.5f);

int main() {
  return samples::guarded("03_gemm", [] {
    std::int64_t const m = 1000, n = 1032, k = 1016;
    device const where = device::best();
    stream const order(where);
    auto const a = samples::random_values<bf16>(m * k);
    auto const b = samples::random_values<bf16>(k * n);
    auto const bias = samples::random_values<float>(n);
    auto const device_a = samples::filled<bf16, 2>(where, a, m, k);
    auto const device_b = samples::filled<bf16, 2>(where, b, k, n);
    auto const device_bias = samples::filled<float, 1>(where, bias, n);
    auto device_c = samples::poisoned<bf16, 2>(where, m, n);

    auto const kernel = samples::gemm<128, 256, 64>(samples::bias_relu);
    double const seconds =
        samples::best_seconds(order, prepare(where, kernel, device_a, device_b, device_bias, device_c));

    std::vector<bf16> c(static_cast<std::size_t>(m * n));
    device_c.copy_to(c);
    auto const x = samples::exact(a), y = samples::exact(b);
    std::vector<double> expected(c.size());
    for (std::int64_t i = 0; i < m; ++i) {
      double* row = expected.data() + i * n;
      for (std::int64_t j = 0; j < n; ++j) row[j] = static_cast<double>(bias[static_cast<std::size_t>(j)]);
      for (std::int64_t l = 0; l < k; ++l)
        for (std::int64_t j = 0; j < n; ++j)
          row[j] += x[static_cast<std::size_t>(i * k + l)] * y[static_cast<std::size_t>(l * n + j)];
      for (std::int64_t j = 0; j < n; ++j) row[j] = std::max(row[j], 0.0);
    }
    return samples::report("03_gemm", samples::text(m, " x ", n, " x ", k), where, seconds,
                           2e-9 * static_cast<double>(m * n * k) / seconds, "GFLOP/s",
                           samples::compare(c, expected, 1, 4e-3));
  });
}
