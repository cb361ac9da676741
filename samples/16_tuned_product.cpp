// Launches one product that is several kernels: a table that the tuner wrote on an H200, or a model of the cost, takes
// the tile and the split for each problem.
#include <algorithm>
#include <string>
#include <vector>

#include "support/report.hpp"
#include "tuned_products.hpp"

using namespace tegula;

namespace {

struct Problem {
  std::int64_t m, n, k;
};

/// Holds the results of all problems.
struct Results {
  std::vector<bf16> values;
  std::vector<double> expected;
  double seconds = 0;
  std::string taken;  ///< labels of the kernels
};

void run(device where, Problem const& p, Results& all) {
  stream const order(where);
  auto const a = samples::random_values<bf16>(p.m * p.k);
  auto const b = samples::random_values<bf16>(p.k * p.n);
  auto const device_a = samples::filled<bf16, 2>(where, a, p.m, p.k);
  auto const device_b = samples::filled<bf16, 2>(where, b, p.k, p.n);
  auto device_c = samples::poisoned<bf16, 2>(where, p.m, p.n);
  all.seconds += samples::best_seconds(order, prepare(where, samples::products, device_a, device_b, device_c));
  all.taken += (all.taken.empty() ? "" : "; ") + choice(samples::products, device_a, device_b, device_c).label;

  std::vector<bf16> c(static_cast<std::size_t>(p.m * p.n));
  device_c.copy_to(c);
  all.values.insert(all.values.end(), c.begin(), c.end());
  auto const x = samples::exact(a), y = samples::exact(b);
  std::vector<double> row(static_cast<std::size_t>(p.n));
  for (std::int64_t i = 0; i < p.m; ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (std::int64_t l = 0; l < p.k; ++l)
      for (std::int64_t j = 0; j < p.n; ++j)
        row[static_cast<std::size_t>(j)] +=
            x[static_cast<std::size_t>(i * p.k + l)] * y[static_cast<std::size_t>(l * p.n + j)];
    all.expected.insert(all.expected.end(), row.begin(), row.end());
  }
}

}  // namespace

int main() {
  return samples::guarded("16_tuned_product", [] {
    device const where = device::best();
    Results all;
    double flops = 0;
    for (Problem const& p : {Problem{1000, 1032, 1016}, {16, 4096, 512}, {256, 256, 4096}}) {
      run(where, p, all);
      flops += 2.0 * static_cast<double>(p.m * p.n) * static_cast<double>(p.k);
    }
    return samples::report("16_tuned_product", "three products by " + all.taken, where, all.seconds,
                           1e-9 * flops / all.seconds, "GFLOP/s", samples::compare(all.values, all.expected, 1, 4e-3));
  });
}
