// Counts values by class with atomics: each block adds 1 at the places that its tile of classes names.
#include "support/report.hpp"

using namespace tegula;

namespace {

constexpr auto histogram = kernel("histogram", [](in<int, 1> classes, inout<int, 1> counts) {
  auto g = grid_over(classes, shape<1024>);
  atomic_add(counts, 1, load(classes, shape<1024>, g[0], pad(-1)));  // outside the tensor: nothing is counted
});

}  // namespace

int main() {
  return samples::guarded("06_histogram", [] {
    std::int64_t const n = (std::int64_t{1} << 22) + 5, classes = 4096;
    device const where = device::best();
    stream const order(where);
    std::vector<int> values;
    for (double x : samples::exact(samples::random_values<float>(n)))
      values.push_back(static_cast<int>((x + 1) * 0.5 * classes));
    auto const device_values = samples::filled<int, 1>(where, values, n);
    auto counts = samples::filled<int, 1>(where, std::vector<int>(classes, 0), classes);
    launch(order, histogram, device_values, counts);

    std::vector<int> found(classes);
    counts.copy_to(found);
    std::vector<double> expected(classes, 0);
    for (int value : values)
      if (value < classes) ++expected[static_cast<std::size_t>(value)];
    double const seconds = samples::best_seconds(order, prepare(where, histogram, device_values, counts));
    return samples::report("06_histogram", samples::text(n, " values in ", classes, " classes"), where, seconds,
                           1e-9 * static_cast<double>(n) / seconds, "Gvalues/s",
                           samples::compare(found, expected, 0, 0));
  });
}
