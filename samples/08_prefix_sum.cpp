// Scans a long vector in two passes: sums of its blocks, then each block's scan on top of the sums before it.
#include "support/report.hpp"

using namespace tegula;

namespace {

constexpr std::int64_t block = 4096, several = 1024;

constexpr auto block_sums = kernel("block_sums", [](in<int, 1> x, out<std::int64_t, 1> sums) {
  auto g = grid_over(x, shape<block>);
  store(sums, shape<1>, sum(cast<std::int64_t>(load(x, shape<block>, g[0])), axis<0>), g[0]);
});

/// Replaces each sum by the sum of those before it; one block passes the total from tile to tile.
constexpr auto sums_before = kernel("sums_before", [](inout<std::int64_t, 1> sums) {
  auto g = grid(1);
  loop(ceil_div(sums.extent(0), several), zeros<std::int64_t>(shape<1>), [&](auto i, auto before) {
    tile part = load(sums, shape<several>, i + g[0]);
    store(sums, shape<several>, cumsum(part, axis<0>, exclusive) + before, i);
    return before + sum(part, axis<0>);
  });
});

constexpr auto prefix_sum = kernel("prefix_sum", [](in<int, 1> x, in<std::int64_t, 1> before, out<std::int64_t, 1> y) {
  auto g = grid_over(y, shape<block>);
  tile part = cast<std::int64_t>(load(x, shape<block>, g[0]));
  store(y, shape<block>, cumsum(part, axis<0>) + load(before, shape<1>, g[0]), g[0]);
});

}  // namespace

int main() {
  return samples::guarded("08_prefix_sum", [] {
    std::int64_t const n = (std::int64_t{1} << 22) + 5, blocks = (n + block - 1) / block;
    device const where = device::best();
    stream const order(where);
    std::vector<int> values;
    for (double x : samples::exact(samples::random_values<float>(n))) values.push_back(static_cast<int>(x * 1000));
    auto const x = samples::filled<int, 1>(where, values, n);
    auto sums = samples::filled<std::int64_t, 1>(where, std::vector<std::int64_t>(blocks, 0), blocks);
    auto y = samples::filled<std::int64_t, 1>(where, std::vector<std::int64_t>(n, -1), n);
    launch(order, block_sums, x, sums);
    launch(order, sums_before, sums);
    launch(order, prefix_sum, x, sums, y);

    std::vector<std::int64_t> found(n);
    y.copy_to(found);
    std::vector<double> expected;
    double total = 0;
    for (int value : values) expected.push_back(total += value);
    double const seconds = samples::best_seconds(order, prepare(where, prefix_sum, x, sums, y));
    return samples::report("08_prefix_sum", samples::text(n, " values in ", blocks, " blocks"), where, seconds,
                           1e-9 * static_cast<double>(n) / seconds, "Gvalues/s",
                           samples::compare(found, expected, 0, 0));
  });
}
