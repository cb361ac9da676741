// Solves the exercises of lesson 3.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

// [begin: exercise 1]
constexpr auto rms_norm = kernel("rms_norm", [](in<float, 2> x, out<float, 2> y, arg<float> epsilon) {
  require(x.extent(1) <= 1024, "rms_norm: a row must fit one tile");
  auto g = grid_over(y, shape<1, 1024>);
  tile v = load(x, shape<1, 1024>, g[0], 0);  // zeros outside add nothing to the sum of squares
  tile mean = sum(v * v, axis<1>) / cast<float>(x.extent(1));
  store(y, shape<1, 1024>, v * rsqrt(mean + epsilon), g[0], 0);
});
// [end]

Comparison exercise_1() {
  std::int64_t const rows = 37, columns = 900;
  device const where = device::best();
  auto const x = random_values<float>(rows * columns);
  auto y = poisoned<float, 2>(where, rows, columns);
  launch(stream(where), rms_norm, filled<float, 2>(where, x, rows, columns), y, 1e-5F);
  auto expected = exact(x);
  for (std::size_t i = 0; i < rows; ++i) {
    double squares = 0;
    for (std::size_t j = 0; j < columns; ++j) squares += expected[i * columns + j] * expected[i * columns + j];
    for (std::size_t j = 0; j < columns; ++j) expected[i * columns + j] /= std::sqrt(squares / columns + 1e-5);
  }
  return compare(read(y), expected, 1, 1e-5);
}

// [begin: exercise 2]
constexpr auto softmax_padded_by_0 = kernel("softmax_padded_by_0", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 1024>);
  tile v = load(x, shape<1, 1024>, g[0], 0);
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, 1024>, e / sum(e, axis<1>), g[0], 0);
});
// [end]

Comparison exercise_2() {
  std::int64_t const rows = 10, columns = 1000;
  device const where = device::best();
  auto const x = random_values<float>(rows * columns);
  auto y = poisoned<float, 2>(where, rows, columns);
  launch(stream(where), softmax_padded_by_0, filled<float, 2>(where, x, rows, columns), y);
  auto const found = read(y);
  std::vector<double> row_sums, expected;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0, total = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      sum += static_cast<double>(found[i * columns + j]);
      total += std::exp(static_cast<double>(x[i * columns + j]));
    }
    row_sums.push_back(sum);
    expected.push_back(total / (total + 24));  // 24 elements outside, each of which counts as exp(0)
  }
  return compare(row_sums, expected, 0, 1e-5);
}

// [begin: exercise 3]
constexpr auto above_mean = kernel("above_mean", [](in<float, 2> x, out<int, 1> y) {
  require(x.extent(1) <= 1024, "above_mean: a row must fit one tile");
  auto g = grid_over(y, shape<4>);
  tile v = load(x, shape<4, 1024>, g[0], 0);
  tile mean = sum(v, axis<1>) / cast<float>(x.extent(1));
  tile above = mask_outside(cast<int>(v > mean), axis<1>, 0, x.extent(1), 0);
  store(y, shape<4>, squeeze(sum(above, axis<1>), axis<1>), g[0]);
});
// [end]

Comparison exercise_3() {
  std::int64_t const rows = 37, columns = 900;
  device const where = device::best();
  std::vector<float> x;  // multiples of 1/64, so that the means are exact enough to decide
  for (float const value : random_values<float>(rows * columns)) x.push_back(std::round(value * 64) / 64 - 1);
  auto y = poisoned<int, 1>(where, rows);
  launch(stream(where), above_mean, filled<float, 2>(where, x, rows, columns), y);
  std::vector<double> expected;
  for (std::size_t i = 0; i < rows; ++i) {
    double mean = 0, count = 0;
    for (std::size_t j = 0; j < columns; ++j) mean += static_cast<double>(x[i * columns + j]);
    mean /= columns;
    for (std::size_t j = 0; j < columns; ++j) count += static_cast<double>(x[i * columns + j]) > mean ? 1 : 0;
    expected.push_back(count);
  }
  return compare(read(y), expected, 0, 0);
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
