// Solves the exercises of lesson 9.
#include "exercises.hpp"

#include <numeric>

using namespace tegula;
using namespace exercises;

// [begin: exercise 1]
constexpr auto permute_by_gather = kernel("permute_by_gather", [](in<float, 1> x, in<int, 1> order, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  store(y, shape<256>, gather(x, load(order, shape<256>, g[0])), g[0]);  // y[i] = x[order[i]]
});

constexpr auto permute_by_scatter = kernel("permute_by_scatter", [](in<float, 1> x, in<int, 1> order, out<float, 1> y) {
  auto g = grid_over(x, shape<256>);
  scatter(y, load(x, shape<256>, g[0]), load(order, shape<256>, g[0], pad(-1)));  // y[order[i]] = x[i]
});
// [end]

Comparison exercise_1() {
  std::size_t const n = 1000;
  device const where = device::best();
  auto const x = random_values<float>(n);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  std::shuffle(order.begin(), order.end(), std::mt19937(1));
  auto const device_order = filled<int, 1>(where, order, n);
  auto shuffled = poisoned<float, 1>(where, n), back = poisoned<float, 1>(where, n);
  launch(stream(where), permute_by_gather, filled<float, 1>(where, x, n), device_order, shuffled);
  launch(stream(where), permute_by_scatter, shuffled, device_order, back);
  std::vector<double> expected;
  for (int const from : order) expected.push_back(static_cast<double>(x[static_cast<std::size_t>(from)]));
  Comparison all = compare(read(shuffled), expected, 0, 0);
  all.join(compare(read(back), exact(x), 0, 0));  // the second undoes the first
  return all;
}

// [begin: exercise 2]
constexpr auto embed = kernel("embed", [](in<float, 2> table, in<int, 1> ids, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 128>);
  auto id = load(ids, g[0]);
  store(y, shape<1, 128>, load(table, shape<1, 128>, id, g[1]), g[0], g[1]);
});

constexpr auto clamped_embed = kernel("clamped_embed", [](in<float, 2> table, in<int, 1> ids, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 128>);
  auto last = table.extent(0) - 1;
  auto id = max(min(cast<std::int64_t>(load(ids, g[0])), last), 0);
  store(y, shape<1, 128>, load(table, shape<1, 128>, id, g[1]), g[0], g[1]);
});
// [end]

Comparison exercise_2() {
  std::size_t const words = 5, width = 16;
  std::vector<int> const ids = {2, -1, 5, 4};
  device const where = device::best();
  auto const table = random_values<float>(words * width);
  auto const device_table = filled<float, 2>(where, table, words, width);
  auto const device_ids = filled<int, 1>(where, ids, 4);
  auto y = poisoned<float, 2>(where, 4, width), clamped = poisoned<float, 2>(where, 4, width);
  launch(stream(where), embed, device_table, device_ids, y);
  launch(stream(where), clamped_embed, device_table, device_ids, clamped);
  std::vector<double> expected, expected_clamped;
  for (int const id : ids)
    for (std::size_t j = 0; j < width; ++j) {
      expected.push_back(id < 0 || id > 4 ? 0 : static_cast<double>(table[static_cast<std::size_t>(id) * width + j]));
      expected_clamped.push_back(
          static_cast<double>(table[static_cast<std::size_t>(std::clamp(id, 0, 4)) * width + j]));
    }
  Comparison all = compare(read(y), expected, 0, 0);
  all.join(compare(read(clamped), expected_clamped, 0, 0));
  return all;
}

// [begin: exercise 3]
constexpr auto add_rows = kernel("add_rows", [](in<float, 2> x, in<int, 1> group, inout<float, 2> y) {
  auto g = grid_over(x, shape<16, 64>);
  tile to = expand_dims(load(group, shape<16>, g[0], pad(-1)), axis<1>);  // 16 x 1
  tile column = iota(shape<1, 64>, axis<1>) + g[1] * 64;                  // 1 x 64
  tile inside = select(column < y.extent(1), column, -1);
  atomic_add(y, load(x, shape<16, 64>, g[0], g[1]), to, inside);
});
// [end]

Comparison exercise_3() {
  std::size_t const rows = 70, columns = 100, groups = 6;
  device const where = device::best();
  auto const x = random_values<float>(rows * columns);
  std::vector<int> group;
  for (std::size_t i = 0; i < rows; ++i) group.push_back(static_cast<int>(i * i % groups));
  auto y = filled<float, 2>(where, std::vector<float>(groups * columns, 0.F), groups, columns);
  launch(stream(where), add_rows, filled<float, 2>(where, x, rows, columns), filled<int, 1>(where, group, rows), y);
  std::vector<double> expected(groups * columns, 0);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j)
      expected[static_cast<std::size_t>(group[i]) * columns + j] += static_cast<double>(x[i * columns + j]);
  return compare(read(y), expected, 1, 1e-5);
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
