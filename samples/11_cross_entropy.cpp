// Computes the cross-entropy of rows of logits with their labels, and its gradient, in one launch. A row is too long
// for one tile: the block goes over it twice. Rows without a label have label -1 and do not count.
#include "support/report.hpp"

using namespace tegula;

namespace {

/// Computes loss = log(sum(exp(row))) - row[label] and gradient = (softmax(row) - [column is the label]) * scale.
template <int width>
constexpr auto cross_entropy = kernel("cross_entropy", [](in<bf16, 2> logits, in<int, 1> labels, out<float, 1> loss,
                                                          out<bf16, 2> gradient, arg<float> scale) {
  auto g = grid_over(loss, shape<1>);
  auto columns = logits.extent(1);
  auto [m, l] = loop(ceil_div(columns, width), carry(full(shape<1>, -inf), zeros<float>(shape<1>)),
                     [&](auto j, auto m0, auto l0) {
                       tile x = cast<float>(load(logits, shape<width>, g[0], j, pad(-inf)));
                       tile m1 = max(m0, max(x, axis<0>));
                       return carry(m1, l0 * exp(m0 - m1) + sum(exp(x - m1), axis<0>));
                     });
  tile label = load(labels, shape<1>, g[0]);
  tile counts = label >= 0;
  tile at_label = cast<float>(gather(logits, g[0], label));  // an index from data
  store(loss, shape<1>, select(counts, m + log(l) - at_label, 0), g[0]);

  tile factor = select(counts, full(shape<1>, scale), 0);
  loop(ceil_div(columns, width), [&](auto j) {
    tile p = exp(cast<float>(load(logits, shape<width>, g[0], j)) - m) / l;
    tile column = iota(shape<width>, axis<0>) + j * width;
    tile hit = select(column == cast<std::int64_t>(label), full(shape<width>, 1.F), 0);
    store(gradient, shape<width>, cast<bf16>((p - hit) * factor), g[0], j);
  });
});

}  // namespace

int main() {
  return samples::guarded("11_cross_entropy", [] {
    std::int64_t const rows = 515, columns = 10008;
    device const where = device::best();
    stream const order(where);
    std::vector<bf16> logits;
    for (double x : samples::exact(samples::random_values<float>(rows * columns))) logits.push_back(bf16(8 * x));
    std::vector<int> labels;
    for (double x : samples::exact(samples::random_values<float>(rows)))
      labels.push_back(x < -0.9 ? -1 : static_cast<int>((x + 1) / 2 * static_cast<double>(columns - 1)));
    float const scale = 1 / static_cast<float>(rows);
    auto const device_logits = samples::filled<bf16, 2>(where, logits, rows, columns);
    auto const device_labels = samples::filled<int, 1>(where, labels, rows);
    auto device_loss = samples::poisoned<float, 1>(where, rows);
    auto device_gradient = samples::poisoned<bf16, 2>(where, rows, columns);

    double const seconds = samples::best_seconds(
        order, prepare(where, cross_entropy<2048>, device_logits, device_labels, device_loss, device_gradient, scale));

    std::vector<float> loss(labels.size());
    std::vector<bf16> gradient(logits.size());
    device_loss.copy_to(loss);
    device_gradient.copy_to(gradient);
    auto const x = samples::exact(logits);
    std::vector<double> expected_loss(loss.size()), expected(gradient.size());
    for (std::int64_t i = 0; i < rows; ++i) {
      int const label = labels[static_cast<std::size_t>(i)];
      if (label < 0) continue;
      double const* row = x.data() + i * columns;
      double* out_row = expected.data() + i * columns;
      double sum = 0;
      for (std::int64_t j = 0; j < columns; ++j) sum += std::exp(row[j]);
      expected_loss[static_cast<std::size_t>(i)] = std::log(sum) - row[label];
      for (std::int64_t j = 0; j < columns; ++j)
        out_row[j] = (std::exp(row[j]) / sum - (j == label ? 1 : 0)) * static_cast<double>(scale);
    }
    // The loss may be wrong by some roundings of float, the gradient by one of bf16.
    samples::Comparison all = samples::compare(gradient, expected, 1e-9, 4.5e-3);
    samples::Comparison const losses = samples::compare(loss, expected_loss, 1, 1e-6);
    if (!losses.right()) all = losses;
    return samples::report("11_cross_entropy", samples::text(rows, " x ", columns), where, seconds,
                           6e-9 * static_cast<double>(rows * columns) / seconds, "GB/s", all);
  });
}
