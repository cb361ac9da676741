// Multiplies each group of rows by the weights of its own expert, in one launch. The block reads the expert's number
// from a tensor and uses it as an index.
#include "support/report.hpp"

using namespace tegula;

namespace {

constexpr int rows_per_group = 128;

constexpr auto experts = kernel("experts", [](in<bf16, 2> x, in<bf16, 3> weights, in<int, 1> expert_of_group,
                                              out<bf16, 2> y) {
  require(x.extent(1) == weights.extent(1), "experts: x is rows x depth and each expert depth x columns");
  auto g = grid_over(y, shape<rows_per_group, 128>);
  auto expert = load(expert_of_group, g[0]);  // one element: an index
  tile sums = loop(
      ceil_div(x.extent(1), 64), zeros<float>(shape<rows_per_group, 128>),
      [&](auto k, auto sum) {
        return dot(load(x, shape<rows_per_group, 64>, g[0], k), load(weights, shape<64, 128>, expert, k, g[1]), sum);
      },
      stages<4>);
  store(y, shape<rows_per_group, 128>, cast<bf16>(sums), g[0], g[1]);
});

}  // namespace

int main() {
  return samples::guarded("07_mixture_of_experts", [] {
    std::int64_t const groups = 6, rows = groups * rows_per_group, depth = 320, columns = 264, count = 4;
    device const where = device::best();
    stream const order(where);
    auto const x = samples::random_values<bf16>(rows * depth);
    auto const weights = samples::random_values<bf16>(count * depth * columns);
    std::vector<int> const expert_of_group = {3, 0, 0, 2, 1, 3};
    auto const device_x = samples::filled<bf16, 2>(where, x, rows, depth);
    auto const device_weights = samples::filled<bf16, 3>(where, weights, count, depth, columns);
    auto const device_groups = samples::filled<int, 1>(where, expert_of_group, groups);
    auto device_y = samples::poisoned<bf16, 2>(where, rows, columns);
    double const seconds =
        samples::best_seconds(order, prepare(where, experts, device_x, device_weights, device_groups, device_y));

    std::vector<bf16> y(static_cast<std::size_t>(rows * columns));
    device_y.copy_to(y);
    auto const a = samples::exact(x), b = samples::exact(weights);
    std::vector<double> expected(y.size(), 0);
    for (std::int64_t i = 0; i < rows; ++i) {
      std::int64_t const expert = expert_of_group[static_cast<std::size_t>(i / rows_per_group)];
      double* const row = expected.data() + i * columns;
      for (std::int64_t k = 0; k < depth; ++k)
        for (std::int64_t j = 0; j < columns; ++j)
          row[j] += a[static_cast<std::size_t>(i * depth + k)] *
                    b[static_cast<std::size_t>((expert * depth + k) * columns + j)];
    }
    return samples::report("07_mixture_of_experts", samples::text(groups, " groups of ", rows_per_group, " rows"),
                           where, seconds, 2e-9 * static_cast<double>(rows * depth * columns) / seconds, "GFLOP/s",
                           samples::compare(y, expected, 1, 4e-3));
  });
}
