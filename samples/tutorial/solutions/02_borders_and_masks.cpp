// Solves the exercises of lesson 2.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

// [begin: exercise 1]
constexpr auto smooth = kernel("smooth", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  auto first = g[0] * 256;
  tile v = load(x, shape<256>, g[0]);
  tile i = iota(shape<256>, axis<0>) + first;
  tile left = select(i == 0, v, load(x, shape<256>, elem(first - 1)));
  tile right = select(i == x.extent(0) - 1, v, load(x, shape<256>, elem(first + 1)));
  store(y, shape<256>, (left + v + right) / 3, g[0]);
});
// [end]

Comparison exercise_1() {
  std::int64_t const n = 1000;
  device const where = device::best();
  auto const x = random_values<float>(n);
  auto y = poisoned<float, 1>(where, n);
  launch(stream(where), smooth, filled<float, 1>(where, x, n), y);
  std::vector<double> expected;
  auto const v = exact(x);
  for (std::size_t i = 0; i < v.size(); ++i)
    expected.push_back((v[i == 0 ? 0 : i - 1] + v[i] + v[i + 1 == v.size() ? i : i + 1]) / 3);
  return compare(read(y), expected, 1, 1e-6);
}

// [begin: exercise 2]
constexpr auto shift = kernel("shift", [](in<float, 1> x, inout<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  tile v = load(x, shape<256>, elem(g[0] * 256 + 3), pad(7));
  store(y, shape<256>, v, elem(g[0] * 256 + 5));
});
// [end]

Comparison exercise_2() {
  std::int64_t const n = 600;
  device const where = device::best();
  auto const x = random_values<float>(n);
  auto y = filled<float, 1>(where, std::vector<float>(n, -1), n);
  launch(stream(where), shift, filled<float, 1>(where, x, n), y);
  std::vector<double> expected;
  auto const v = exact(x);
  for (std::size_t i = 0; i < v.size(); ++i) expected.push_back(i < 5 ? -1 : i - 2 < v.size() ? v[i - 2] : 7);
  return compare(read(y), expected, 0, 0);
}

// [begin: exercise 3]
constexpr auto frame = kernel("frame", [](in<float, 2> x, out<float, 2> y, arg<std::int64_t> width, arg<float> paint) {
  auto g = grid_over(y, shape<16, 64>);
  tile row = iota(shape<16, 1>, axis<0>) + g[0] * 16;
  tile column = iota(shape<1, 64>, axis<1>) + g[1] * 64;
  tile inner_row = (row >= width) & (row < x.extent(0) - width);
  tile inner_column = (column >= width) & (column < x.extent(1) - width);
  tile v = load(x, shape<16, 64>, g[0], g[1]);
  store(y, shape<16, 64>, select(inner_row & inner_column, v, paint), g[0], g[1]);
});
// [end]

Comparison exercise_3() {
  std::int64_t const rows = 70, columns = 130, width = 5;
  device const where = device::best();
  auto const x = random_values<float>(rows * columns);
  auto y = poisoned<float, 2>(where, rows, columns);
  launch(stream(where), frame, filled<float, 2>(where, x, rows, columns), y, width, 0.25F);
  std::vector<double> expected = exact(x);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j)
      if (i < width || i >= rows - width || j < width || j >= columns - width)
        expected[static_cast<std::size_t>(i * columns + j)] = 0.25;
  return compare(read(y), expected, 0, 0);
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
