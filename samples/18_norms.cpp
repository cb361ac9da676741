// Trains with norms: the gradients of RMSNorm and layernorm, and a layernorm fused with residual, dropout and e4m3.
#include "norm_kernels.hpp"
#include "support/report.hpp"

#include <array>

using namespace tegula;

namespace {

constexpr int width = 1024;
constexpr std::int64_t rows = 67, columns = 1000, parts = 6;
constexpr double epsilon = 1e-5;

using Doubles = std::vector<double>;

std::size_t at(std::int64_t row, std::int64_t column) { return static_cast<std::size_t>(row * columns + column); }

/// Holds a problem, and the gradients in float64; without `centred` those of RMSNorm.
struct Gradients {
  explicit Gradients(bool centred)
      : x(samples::random_values<bf16>(rows * columns)),
        dy(samples::random_values<bf16>(rows * columns)),
        weight(samples::random_values<bf16>(columns)),
        dx(x.size()),
        dweight(weight.size()),
        dbias(weight.size()) {
    Doubles const exact_x = samples::exact(x), gradient = samples::exact(dy), w = samples::exact(weight);
    double const count = columns;
    for (std::int64_t i = 0; i < rows; ++i) {
      double m = 0, squares = 0, across = 0, along = 0;
      for (std::int64_t j = 0; j < columns && centred; ++j) m += exact_x[at(i, j)] / count;
      for (std::int64_t j = 0; j < columns; ++j) squares += std::pow(exact_x[at(i, j)] - m, 2) / count;
      mean.push_back(static_cast<float>(m));
      rstd.push_back(static_cast<float>(1 / std::sqrt(squares + epsilon)));
      auto const r = static_cast<double>(rstd.back());
      for (std::size_t j = 0; j < w.size(); ++j) {
        double const normal = (exact_x[at(i, 0) + j] - m) * r, scaled = gradient[at(i, 0) + j] * w[j];
        across += centred ? scaled / count : 0;
        along += scaled * normal / count;
        dweight[j] += gradient[at(i, 0) + j] * normal;
        dbias[j] += gradient[at(i, 0) + j];
      }
      for (std::size_t j = 0; j < w.size(); ++j) {
        double const normal = (exact_x[at(i, 0) + j] - m) * r;
        dx[at(i, 0) + j] = (gradient[at(i, 0) + j] * w[j] - across - normal * along) * r;
      }
    }
  }
  std::vector<bf16> x, dy, weight;
  std::vector<float> mean, rstd;
  Doubles dx, dweight, dbias;
};

/// Compares a result of 16 bits; errors are relative to 1 + |expected|.
template <int rank>
samples::Comparison compared(buffer<bf16, rank>& found, Doubles const& expected) {
  std::vector<bf16> values(expected.size());
  found.copy_to(values);
  return samples::compare(values, expected, 1, 8e-3);
}

samples::Comparison check_gradients(stream const& order, bool centred) {
  device const where = order.where();
  Gradients const problem(centred);
  auto const x = samples::filled<bf16, 2>(where, problem.x, rows, columns);
  auto const dy = samples::filled<bf16, 2>(where, problem.dy, rows, columns);
  auto const weight = samples::filled<bf16, 1>(where, problem.weight, columns);
  auto const mean = samples::filled<float, 1>(where, problem.mean, rows);
  auto const rstd = samples::filled<float, 1>(where, problem.rstd, rows);
  auto dx = samples::poisoned<bf16, 2>(where, rows, columns);
  auto weight_parts = samples::poisoned<float, 2>(where, parts, columns);
  auto bias_parts = samples::poisoned<float, 2>(where, parts, columns);
  auto dweight = samples::poisoned<bf16, 1>(where, columns), dbias = samples::poisoned<bf16, 1>(where, columns);
  if (centred) {
    launch(order, samples::layernorm_backward<width>, x, weight, mean, rstd, dy, dx, weight_parts, bias_parts);
    launch(order, samples::column_sums, bias_parts, dbias);
  } else {
    launch(order, samples::rmsnorm_backward<width>, x, weight, rstd, dy, dx, weight_parts);
  }
  launch(order, samples::column_sums, weight_parts, dweight);
  samples::Comparison all = compared(dx, problem.dx);
  all.join(compared(dweight, problem.dweight));
  if (centred) all.join(compared(dbias, problem.dbias));
  return all;
}

/// Checks the fused kernel without dropout, whose random numbers the library's tests compare, and counts what dropout
/// keeps.
samples::Comparison check_fused(stream const& order) {
  device const where = order.where();
  float const scale = 8;
  auto const x = samples::random_values<bf16>(rows * columns), residual = samples::random_values<bf16>(rows * columns);
  auto const weight = samples::random_values<bf16>(columns), bias = samples::random_values<bf16>(columns);
  Doubles const a = samples::exact(x), b = samples::exact(residual), w = samples::exact(weight),
                c = samples::exact(bias);
  Doubles expected_total(a.size()), expected(a.size());
  double max = 0;
  for (std::int64_t i = 0; i < rows; ++i) {
    double mean = 0, squares = 0;
    for (std::size_t j = at(i, 0); j < at(i + 1, 0); ++j) mean += (expected_total[j] = a[j] + b[j]) / columns;
    for (std::size_t j = at(i, 0); j < at(i + 1, 0); ++j) squares += std::pow(expected_total[j] - mean, 2) / columns;
    for (std::size_t j = 0; j < w.size(); ++j) {
      double const normal = (expected_total[at(i, 0) + j] - mean) / std::sqrt(squares + epsilon) * w[j] + c[j];
      max = std::max(max, std::abs(normal));
      expected[at(i, 0) + j] = normal * static_cast<double>(scale);
    }
  }
  auto const device_x = samples::filled<bf16, 2>(where, x, rows, columns);
  auto const device_residual = samples::filled<bf16, 2>(where, residual, rows, columns);
  auto const device_weight = samples::filled<bf16, 1>(where, weight, columns);
  auto const device_bias = samples::filled<bf16, 1>(where, bias, columns);
  auto total = samples::poisoned<bf16, 2>(where, rows, columns);
  auto y = samples::poisoned<e4m3, 2>(where, rows, columns);
  buffer<float> amax(where, 1);
  auto const run = [&](float keep) {
    amax.fill(0.F);
    launch(order, samples::add_norm_quantize<width>, device_x, device_residual, device_weight, device_bias, total, y,
           amax, keep, 7, static_cast<float>(epsilon), scale);
  };
  run(1);
  samples::Comparison all = compared(total, expected_total);
  std::vector<e4m3> found(expected.size());
  y.copy_to(found);
  samples::Comparison const narrow = samples::compare(found, expected, 1, 0.07);
  std::vector<float> top(1);
  amax.copy_to(top);
  samples::Comparison const of_max = samples::compare(top, {max}, 0, 1e-4);
  if (!narrow.right()) return narrow;
  if (!of_max.right()) return of_max;
  run(0.75F);
  std::vector<bf16> dropped(a.size());
  total.copy_to(dropped);
  double kept = 0;
  for (std::size_t i = 0; i < a.size(); ++i) kept += a[i] != 0 && static_cast<double>(dropped[i]) != b[i] ? 1 : 0;
  samples::Comparison const share =
      samples::compare(std::vector<float>{static_cast<float>(kept / (rows * columns))}, {0.75}, 0, 0.02);
  return share.right() ? all : share;
}

}  // namespace

int main() {
  return samples::guarded("18_norms", [] {
    stream const order(device::best());
    samples::Comparison all(8e-3);
    timer clock(order);
    clock.start();
    for (samples::Comparison const& one :
         {check_gradients(order, false), check_gradients(order, true), check_fused(order)}) {
      if (!one.right()) {
        all = one;
        break;
      }
      all.join(one);
    }
    clock.stop();
    return samples::report(
        "18_norms", samples::text("gradients of RMSNorm and layernorm, and a fused layernorm, ", rows, " x ", columns),
        order.where(), clock.seconds(), 3.0 * rows / clock.seconds(), "rows/s with compilation", all);
  });
}
