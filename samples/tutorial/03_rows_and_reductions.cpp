// Lesson 3 of lib/doc/tutorial.md: computes the softmax and the variance of the rows of a matrix.
#include <tegula/tegula.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

using namespace tegula;

// [begin: softmax]
constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  require(x.extent(1) <= 1024, "softmax: a row must fit one tile");
  auto g = grid_over(y, shape<1, 1024>);                 // one block for each row
  tile v = load(x, shape<1, 1024>, g[0], 0, pad(-inf));  // 1 x 1024
  tile e = exp(v - max(v, axis<1>));                     // the maximum is 1 x 1, and broadcasts
  store(y, shape<1, 1024>, e / sum(e, axis<1>), g[0], 0);
});
// [end]

// [begin: variance]
constexpr auto variance = kernel("variance", [](in<float, 2> x, out<float, 1> y) {
  require(x.extent(1) <= 1024, "variance: a row must fit one tile");
  auto g = grid_over(y, shape<4>);  // one block for four rows
  auto columns = x.extent(1);
  auto count = cast<float>(columns);
  tile v = load(x, shape<4, 1024>, g[0], 0);  // 0 outside
  tile mean = sum(v, axis<1>) / count;        // 4 x 1
  tile d = mask_outside(v - mean, axis<1>, 0, columns, 0);
  store(y, shape<4>, squeeze(sum(d * d, axis<1>), axis<1>) / count, g[0]);
});
// [end]

int main() {
  std::mt19937 engine(3);
  std::uniform_real_distribution<float> uniform(-4, 4);
  device const where = device::best();
  stream const order(where);

  std::int64_t const rows = 103, columns = 1000;
  std::vector<float> x(rows * columns), y(rows * columns), variances(rows);
  for (float& value : x) value = uniform(engine);
  buffer<float, 2> device_x(where, rows, columns), device_y(where, rows, columns);
  buffer<float> device_variances(where, rows);
  device_x.copy_from(x);
  launch(order, softmax, device_x, device_y);
  launch(order, variance, device_x, device_variances);
  device_y.copy_to(y);
  device_variances.copy_to(variances);

  double worst_softmax = 0, worst_variance = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    float const* row = x.data() + i * columns;
    double total = 0, mean = 0, squares = 0;
    for (std::size_t j = 0; j < columns; ++j) {
      total += std::exp(static_cast<double>(row[j]));
      mean += static_cast<double>(row[j]) / columns;
    }
    for (std::size_t j = 0; j < columns; ++j) {
      double const expected = std::exp(static_cast<double>(row[j])) / total;
      worst_softmax = std::max(worst_softmax, std::abs(static_cast<double>(y[i * columns + j]) / expected - 1));
      squares += std::pow(static_cast<double>(row[j]) - mean, 2) / columns;
    }
    worst_variance = std::max(worst_variance, std::abs(static_cast<double>(variances[i]) / squares - 1));
  }
  std::printf("softmax: %d rows, %s\n", static_cast<int>(rows), worst_softmax < 2e-6 ? "right" : "wrong");
  std::printf("variance: %d rows, %s\n", static_cast<int>(rows), worst_variance < 2e-6 ? "right" : "wrong");

  // [begin: refused]
  buffer<float, 2> const wide(where, 8, 2000);
  buffer<float, 2> result(where, 8, 2000);
  try {
    launch(order, softmax, wide, result);
  } catch (UserError const& error) {
    std::string const text = error.what();
    std::printf("a launch with 2000 columns: %s\n",
                text.find("a row must fit one tile") == std::string::npos ? text.c_str() : "a row must fit one tile");
  }
  // [end]
}

// [begin: output]
// softmax: 103 rows, right
// variance: 103 rows, right
// a launch with 2000 columns: a row must fit one tile
// [end]
