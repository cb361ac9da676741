// Lesson 2 of lib/doc/tutorial.md: reads neighbours, beyond the borders too, and chooses elements by masks.
#include <tegula/tegula.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using namespace tegula;

// [begin: smooth]
/// y[i] is the mean of x[i - 1], x[i] and x[i + 1]; at both ends, of the two that exist.
constexpr auto smooth = kernel("smooth", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  auto first = g[0] * 256;                            // counts elements
  tile left = load(x, shape<256>, elem(first - 1));   // 0 in front of the first element
  tile right = load(x, shape<256>, elem(first + 1));  // 0 behind the last one
  tile i = iota(shape<256>, axis<0>) + first;         // the place of each element
  tile missing = cast<float>(i == 0) + cast<float>(i == x.extent(0) - 1);
  store(y, shape<256>, (left + load(x, shape<256>, g[0]) + right) / (3 - missing), g[0]);
});
// [end]

// [begin: lower]
/// Keeps the elements on the diagonal and below it.
constexpr auto lower = kernel("lower", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<16, 64>);
  tile row = iota(shape<16, 1>, axis<0>) + g[0] * 16;     // 16 x 1
  tile column = iota(shape<1, 64>, axis<1>) + g[1] * 64;  // 1 x 64
  tile v = load(x, shape<16, 64>, g[0], g[1]);
  store(y, shape<16, 64>, select(column <= row, v, 0), g[0], g[1]);
});
// [end]

int main() {
  std::mt19937 engine(2);
  std::uniform_real_distribution<float> uniform(-1, 1);
  device const where = device::best();
  stream const order(where);

  std::int64_t const n = 5000;
  std::vector<float> x(n), y(n);
  for (float& value : x) value = uniform(engine);
  buffer<float> const device_x(where, x);
  buffer<float> device_y(where, n);
  launch(order, smooth, device_x, device_y);
  device_y.copy_to(y);

  double worst = 0;
  for (std::int64_t i = 0; i < n; ++i) {
    double sum = 0, count = 0;
    for (std::int64_t j = i - 1; j <= i + 1; ++j)
      if (j >= 0 && j < n) sum += static_cast<double>(x[static_cast<std::size_t>(j)]), ++count;
    worst = std::max(worst, std::abs(static_cast<double>(y[static_cast<std::size_t>(i)]) - sum / count));
  }
  std::printf("smooth: %d elements, %s\n", static_cast<int>(n), worst < 1e-6 ? "right" : "wrong");

  // [begin: matrix]
  std::int64_t const rows = 100, columns = 90;
  std::vector<float> matrix(rows * columns), result(rows * columns);
  for (float& value : matrix) value = uniform(engine);
  buffer<float, 2> device_matrix(where, rows, columns), device_result(where, rows, columns);
  device_matrix.copy_from(matrix);  // row by row
  launch(order, lower, device_matrix, device_result);
  device_result.copy_to(result);
  // [end]

  int wrong = 0;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      if (result[i * columns + j] != (j <= i ? matrix[i * columns + j] : 0)) ++wrong;
  std::printf("lower: %d of %d elements are wrong\n", wrong, static_cast<int>(rows * columns));
}

// [begin: output]
// smooth: 5000 elements, right
// lower: 0 of 9000 elements are wrong
// [end]
