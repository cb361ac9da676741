// Normalises the rows of a matrix, forward and backward. Sums over rows are made in two steps, without atomics: the
// same bits at every run.
#include "support/report.hpp"

using namespace tegula;

namespace {

constexpr int width = 1024;        // a row fits one tile
constexpr int rows_per_part = 16;  // rows whose gradients one block sums

/// Computes y = (x - mean) * rstd * weight + bias; keeps mean and rstd = 1 / standard deviation for the way back.
constexpr auto layernorm =
    kernel("layernorm", [](in<float, 2> x, in<float, 1> weight, in<float, 1> bias, out<float, 2> y, out<float, 1> mean,
                           out<float, 1> rstd, arg<float> epsilon) {
      require(x.extent(1) <= width, "layernorm: a row must fit one tile");
      auto g = grid_over(y, shape<1, width>);
      auto count = cast<float>(x.extent(1));
      tile v = load(x, shape<width>, g[0], 0);  // 0 outside of the row
      tile m = sum(v, axis<0>) / count;
      tile d = mask_outside(v - m, axis<0>, 0, x.extent(1), 0);
      tile r = rsqrt(sum(d * d, axis<0>) / count + epsilon);
      store(y, shape<width>, d * r * load(weight, shape<width>, 0) + load(bias, shape<width>, 0), g[0], 0);
      store(mean, shape<1>, m, g[0]);
      store(rstd, shape<1>, r, g[0]);
    });

/// Computes the gradient of x, and of weight and bias the part that a block's rows give.
constexpr auto layernorm_backward =
    kernel("layernorm_backward", [](in<float, 2> x, in<float, 1> weight, in<float, 1> mean, in<float, 1> rstd,
                                    in<float, 2> dy, out<float, 2> dx, out<float, 2> dweight, out<float, 2> dbias) {
      auto g = grid_over(dweight, shape<1, width>);
      auto count = cast<float>(x.extent(1));
      tile w = load(weight, shape<width>, 0);
      auto [weight_sum, bias_sum] = loop(
          rows_per_part, carry(zeros<float>(shape<width>), zeros<float>(shape<width>)), [&](auto i, auto dw, auto db) {
            auto row = g[0] * rows_per_part + i;  // rows beyond the last load as 0 and add nothing
            tile gradient = load(dy, shape<width>, row, 0);
            tile r = load(rstd, shape<1>, row);
            tile normal = (load(x, shape<width>, row, 0) - load(mean, shape<1>, row)) * r;
            tile scaled = gradient * w;
            tile along = sum(scaled * normal, axis<0>) / count;
            store(dx, shape<width>, (scaled - sum(scaled, axis<0>) / count - normal * along) * r, row, 0);
            return carry(dw + gradient * normal, db + gradient);
          });
      store(dweight, shape<width>, weight_sum, g[0], 0);
      store(dbias, shape<width>, bias_sum, g[0], 0);
    });

/// Sums the parts of all blocks.
constexpr auto column_sums = kernel("column_sums", [](in<float, 2> parts, out<float, 1> total) {
  auto g = grid_over(total, shape<64>);
  tile sums = loop(ceil_div(parts.extent(0), 32), zeros<float>(shape<1, 64>),
                   [&](auto i, auto before) { return before + sum(load(parts, shape<32, 64>, i, g[0]), axis<0>); });
  store(total, shape<64>, squeeze(sums, axis<0>), g[0]);
});

struct Reference {
  std::vector<double> y, dx, dweight, dbias;
};

Reference reference(std::vector<double> const& x, std::vector<double> const& weight, std::vector<double> const& bias,
                    std::vector<double> const& dy, double epsilon) {
  std::size_t const columns = weight.size();
  double const count = static_cast<double>(columns);
  Reference result{std::vector<double>(x.size()), std::vector<double>(x.size()), std::vector<double>(columns),
                   std::vector<double>(columns)};
  for (std::size_t first = 0; first < x.size(); first += columns) {
    double mean = 0, variance = 0, sum = 0, along = 0;
    for (std::size_t j = 0; j < columns; ++j) mean += x[first + j] / count;
    for (std::size_t j = 0; j < columns; ++j) variance += (x[first + j] - mean) * (x[first + j] - mean) / count;
    double const r = 1 / std::sqrt(variance + epsilon);
    for (std::size_t j = 0; j < columns; ++j) {
      double const normal = (x[first + j] - mean) * r, scaled = dy[first + j] * weight[j];
      result.y[first + j] = normal * weight[j] + bias[j];
      result.dweight[j] += dy[first + j] * normal;
      result.dbias[j] += dy[first + j];
      sum += scaled / count;
      along += scaled * normal / count;
    }
    for (std::size_t j = 0; j < columns; ++j)
      result.dx[first + j] = (dy[first + j] * weight[j] - sum - (x[first + j] - mean) * r * along) * r;
  }
  return result;
}

}  // namespace

int main() {
  return samples::guarded("09_layernorm", [] {
    std::int64_t const rows = 4099, columns = 1000, parts = ceil_div(rows, rows_per_part);
    float const epsilon = 1e-5F;
    device const where = device::best();
    stream const order(where);
    auto const x = samples::random_values<float>(rows * columns), weight = samples::random_values<float>(columns),
               bias = samples::random_values<float>(columns), dy = samples::random_values<float>(rows * columns);
    auto const device_x = samples::filled<float, 2>(where, x, rows, columns);
    auto const device_weight = samples::filled<float, 1>(where, weight, columns);
    auto const device_bias = samples::filled<float, 1>(where, bias, columns);
    auto const device_dy = samples::filled<float, 2>(where, dy, rows, columns);
    auto y = samples::poisoned<float, 2>(where, rows, columns), dx = samples::poisoned<float, 2>(where, rows, columns);
    auto mean = samples::poisoned<float, 1>(where, rows), rstd = samples::poisoned<float, 1>(where, rows);
    auto weight_parts = samples::poisoned<float, 2>(where, parts, columns);
    auto bias_parts = samples::poisoned<float, 2>(where, parts, columns);
    auto dweight = samples::poisoned<float, 1>(where, columns), dbias = samples::poisoned<float, 1>(where, columns);

    auto const forward = prepare(where, layernorm, device_x, device_weight, device_bias, y, mean, rstd, epsilon);
    auto const backward = prepare(where, layernorm_backward, device_x, device_weight, mean, rstd, device_dy, dx,
                                  weight_parts, bias_parts);
    auto const weights = prepare(where, column_sums, weight_parts, dweight);
    auto const biases = prepare(where, column_sums, bias_parts, dbias);
    double const seconds = samples::best_seconds(order, [&](stream const& on) {
      forward(on);
      backward(on);
      weights(on);
      biases(on);
    });

    auto const expected = reference(samples::exact(x), samples::exact(weight), samples::exact(bias), samples::exact(dy),
                                    static_cast<double>(epsilon));
    double const bound = 1e-4;
    std::vector<float> matrix(x.size()), line(weight.size());
    y.copy_to(matrix);
    samples::Comparison all = samples::compare(matrix, expected.y, 1, bound);
    dx.copy_to(matrix);
    all.join(samples::compare(matrix, expected.dx, 1, bound));
    dweight.copy_to(line);
    all.join(samples::compare(line, expected.dweight, 1, bound));
    dbias.copy_to(line);
    all.join(samples::compare(line, expected.dbias, 1, bound));
    return samples::report("09_layernorm", samples::text(rows, " x ", columns, ", both ways"), where, seconds,
                           5e-9 * sizeof(float) * static_cast<double>(rows * columns) / seconds, "GB/s", all);
  });
}
