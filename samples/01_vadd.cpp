// Adds two vectors: the first kernel.
#include "kernels.hpp"
#include "support/report.hpp"

using namespace tegula;

int main() {
  return samples::guarded("01_vadd", [] {
    std::int64_t const n = (std::int64_t{1} << 24) + 3;  // no multiple of the tile
    device const where = device::best();
    stream const order(where);
    auto const a = samples::random_values<float>(n);
    auto const b = samples::random_values<float>(n);
    auto const device_a = samples::filled<float, 1>(where, a, n);
    auto const device_b = samples::filled<float, 1>(where, b, n);
    auto device_c = samples::poisoned<float, 1>(where, n);

    double const seconds = samples::best_seconds(order, prepare(where, samples::vadd, device_a, device_b, device_c));

    std::vector<float> c(a.size());
    device_c.copy_to(c);
    std::vector<double> expected(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) expected[i] = static_cast<double>(a[i] + b[i]);
    return samples::report("01_vadd", samples::text(n, " floats"), where, seconds,
                           3e-9 * sizeof(float) * static_cast<double>(n) / seconds, "GB/s",
                           samples::compare(c, expected, 0, 0));
  });
}
