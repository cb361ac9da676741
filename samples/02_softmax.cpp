// Computes the softmax of every row of a matrix, one row per block.
#include "kernels.hpp"
#include "support/report.hpp"

using namespace tegula;

int main() {
  return samples::guarded("02_softmax", [] {
    std::int64_t const rows = 4099, columns = 1000;
    device const where = device::best();
    stream const order(where);
    auto const x = samples::random_values<float>(rows * columns);
    auto const device_x = samples::filled<float, 2>(where, x, rows, columns);
    auto device_y = samples::poisoned<float, 2>(where, rows, columns);

    double const seconds = samples::best_seconds(order, prepare(where, samples::softmax<1024>, device_x, device_y));

    std::vector<float> y(x.size());
    device_y.copy_to(y);
    std::vector<double> expected(x.size());
    for (std::int64_t row = 0; row < rows; ++row) {
      auto const first = static_cast<std::size_t>(row * columns);
      double sum = 0;
      for (std::size_t i = first; i < first + static_cast<std::size_t>(columns); ++i)
        sum += expected[i] = std::exp(static_cast<double>(x[i]));
      for (std::size_t i = first; i < first + static_cast<std::size_t>(columns); ++i) expected[i] /= sum;
    }
    return samples::report("02_softmax", samples::text(rows, " x ", columns), where, seconds,
                           2e-9 * sizeof(float) * static_cast<double>(rows * columns) / seconds, "GB/s",
                           samples::compare(y, expected, 0, 2e-6));
  });
}
