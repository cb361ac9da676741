// Computes softmax and cross-entropy of rows that one multiprocessor does not hold: a cluster of CTAs shares each row.
#include "long_row_kernels.hpp"
#include "support/report.hpp"

using namespace tegula;

namespace {

constexpr int width = 1 << 17;
constexpr std::int64_t rows = 3, columns = 100003;

std::vector<bf16> logits() {
  std::vector<bf16> result;
  for (double const x : samples::exact(samples::random_values<float>(rows * columns))) result.push_back(bf16(8 * x));
  return result;
}

}  // namespace

int main() {
  return samples::guarded("19_long_rows", [] {
    device const where = device::best();
    stream const order(where);
    std::vector<bf16> const x = logits();
    std::vector<int> const labels = {5, -1, static_cast<int>(columns) - 1};  // the second row does not count
    float const scale = 0.5F;
    auto const device_x = samples::filled<bf16, 2>(where, x, rows, columns);
    auto const device_labels = samples::filled<int, 1>(where, labels, rows);
    auto y = samples::poisoned<bf16, 2>(where, rows, columns),
         gradient = samples::poisoned<bf16, 2>(where, rows, columns);
    auto loss = samples::poisoned<float, 1>(where, rows);
    launch(order, samples::softmax_rows<bf16, width>, device_x, y);
    double const seconds = samples::best_seconds(
        order, prepare(where, samples::cross_entropy_rows<width>, device_x, device_labels, loss, gradient, scale), 3);

    std::vector<double> const exact = samples::exact(x);
    std::vector<double> shares(exact.size()), gradients(exact.size()), losses;
    for (std::int64_t i = 0; i < rows; ++i) {
      double const* row = exact.data() + i * columns;
      int const label = labels[static_cast<std::size_t>(i)];
      double total = 0;
      for (std::int64_t j = 0; j < columns; ++j) total += std::exp(row[j]);
      losses.push_back(label < 0 ? 0 : std::log(total) - row[label]);
      for (std::int64_t j = 0; j < columns; ++j) {
        auto const at = static_cast<std::size_t>(i * columns + j);
        shares[at] = std::exp(row[j]) / total;
        gradients[at] = label < 0 ? 0 : (shares[at] - (j == label ? 1 : 0)) * static_cast<double>(scale);
      }
    }
    std::vector<bf16> found(x.size());
    std::vector<float> found_losses(losses.size());
    y.copy_to(found);
    samples::Comparison all = samples::compare(found, shares, 1e-9, 4.5e-3);
    gradient.copy_to(found);
    all.join(samples::compare(found, gradients, 1e-9, 4.5e-3));
    loss.copy_to(found_losses);
    samples::Comparison const of_losses = samples::compare(found_losses, losses, 1, 1e-5);
    if (!of_losses.right()) all = of_losses;
    return samples::report("19_long_rows", samples::text("cross-entropy and softmax, ", rows, " x ", columns), where,
                           seconds, 4e-9 * static_cast<double>(rows * columns) / seconds, "GB/s", all);
  });
}
