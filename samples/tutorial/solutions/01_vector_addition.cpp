// Solves the exercises of lesson 1.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

// [begin: exercise 1]
constexpr auto difference = kernel("difference", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<512>);
  tile x = load(a, shape<512>, g[0]);  // has a name, so it is loaded once
  tile y = load(b, shape<512>, g[0]);
  store(c, shape<512>, x * x - y * y, g[0]);
});
// [end]

Comparison exercise_1() {
  std::int64_t const n = 3000;
  device const where = device::best();
  auto const a = random_values<float>(n), b = random_values<float>(n);
  auto const device_a = filled<float, 1>(where, a, n), device_b = filled<float, 1>(where, b, n);
  auto c = poisoned<float, 1>(where, n);
  launch(stream(where), difference, device_a, device_b, c);
  std::vector<double> expected;
  auto const x = exact(a), y = exact(b);
  for (std::size_t i = 0; i < x.size(); ++i) expected.push_back(x[i] * x[i] - y[i] * y[i]);
  return compare(read(c), expected, 1, 1e-6);
}

// [begin: exercise 2]
constexpr auto block_numbers = kernel("block_numbers", [](out<int, 1> c) {
  auto g = grid_over(c, shape<256>);
  store(c, shape<256>, cast<int>(g[0]), g[0]);  // one number for all elements of the tile
});
// [end]

Comparison exercise_2() {
  std::int64_t const n = 10'000;
  device const where = device::best();
  auto c = poisoned<int, 1>(where, n);
  launch(stream(where), block_numbers, c);
  std::vector<double> expected;
  for (int i = 0; i < n; ++i) expected.push_back(i / 256);  // the last block, number 39, has 10'000 - 39 * 256 = 16
  return compare(read(c), expected, 0, 0);
}

// [begin: exercise 3]
constexpr auto axpy = kernel("axpy", [](in<float, 1> x, inout<float, 1> y, arg<float> factor) {
  auto g = grid_over(y, shape<256>);
  store(y, shape<256>, load(y, shape<256>, g[0]) + factor * load(x, shape<256>, g[0]), g[0]);
});
// [end]

Comparison exercise_3() {
  std::int64_t const n = 3000;
  device const where = device::best();
  auto const x = random_values<float>(n), y = random_values<float>(n);
  auto const device_x = filled<float, 1>(where, x, n);
  auto device_y = filled<float, 1>(where, y, n);
  launch(stream(where), axpy, device_x, device_y, -3);
  std::vector<double> expected;
  auto const a = exact(x), b = exact(y);
  for (std::size_t i = 0; i < a.size(); ++i) expected.push_back(b[i] - 3 * a[i]);
  return compare(read(device_y), expected, 1, 1e-6);
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
