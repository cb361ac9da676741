// Lesson 9 of lib/doc/tutorial.md: reads places, bounds and numbers of classes from tensors.
#include <tegula/tegula.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using namespace tegula;

// [begin: embed]
/// Row i of y is row ids[i] of the table.
constexpr auto embed = kernel("embed", [](in<float, 2> table, in<int, 1> ids, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 128>);
  auto id = load(ids, g[0]);  // no shape: one element, an index expression
  store(y, shape<1, 128>, load(table, shape<1, 128>, id, g[1]), g[0], g[1]);
});
// [end]

// [begin: segments]
/// Row s of y is the sum of the rows first[s] ... first[s + 1] - 1 of x.
constexpr auto segment_sums = kernel("segment_sums", [](in<float, 2> x, in<int, 1> first, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 128>);
  auto rows = slice(x, axis<0>, load(first, g[0]), load(first, g[0] + 1));  // a tensor of its own
  tile total = loop(ceil_div(rows.extent(0), 16), zeros<float>(shape<1, 128>),
                    [&](auto k, auto before) { return before + sum(load(rows, shape<16, 128>, k, g[1]), axis<0>); });
  store(y, shape<1, 128>, total, g[0], g[1]);
});
// [end]

// [begin: histogram]
/// Counts how often each class occurs.
constexpr auto histogram = kernel("histogram", [](in<int, 1> classes, inout<int, 1> counts) {
  auto g = grid_over(classes, shape<256>);
  atomic_add(counts, 1, load(classes, shape<256>, g[0], pad(-1)));  // -1 is outside, so nothing is counted
});
// [end]

int main() {
  std::mt19937 engine(9);
  std::uniform_real_distribution<float> uniform(-1, 1);
  device const where = device::best();
  stream const order(where);

  std::size_t const words = 60, width = 200, tokens = 90, segments = 7;
  std::vector<float> table(words * width), rows(tokens * width), sums(segments * width);
  std::vector<int> ids(tokens), counts(words, 0);
  std::vector<int> const first = {0, 3, 3, 20, 21, 40, 60, 90};
  for (float& value : table) value = uniform(engine);
  for (int& id : ids) id = static_cast<int>(engine() % words);

  buffer<float, 2> device_table(where, words, width), device_rows(where, tokens, width),
      device_sums(where, segments, width);
  device_table.copy_from(table);
  buffer<int> const device_ids(where, ids), device_first(where, first);
  buffer<int> device_counts(where, counts);
  launch(order, embed, device_table, device_ids, device_rows);
  launch(order, segment_sums, device_rows, device_first, device_sums);  // after embed, on the same stream
  launch(order, histogram, device_ids, device_counts);
  device_rows.copy_to(rows);
  device_sums.copy_to(sums);
  device_counts.copy_to(counts);

  int wrong_rows = 0, wrong_counts = 0;
  double worst = 0;
  std::vector<int> expected_counts(words, 0);
  for (std::size_t i = 0; i < tokens; ++i) {
    ++expected_counts[static_cast<std::size_t>(ids[i])];
    for (std::size_t j = 0; j < width; ++j)
      if (rows[i * width + j] != table[static_cast<std::size_t>(ids[i]) * width + j]) ++wrong_rows;
  }
  for (std::size_t i = 0; i < words; ++i)
    if (counts[i] != expected_counts[i]) ++wrong_counts;
  for (std::size_t s = 0; s < segments; ++s)
    for (std::size_t j = 0; j < width; ++j) {
      double sum = 0;
      for (int i = first[s]; i < first[s + 1]; ++i)
        sum += static_cast<double>(rows[static_cast<std::size_t>(i) * width + j]);
      worst = std::max(worst, std::abs(static_cast<double>(sums[s * width + j]) - sum));
    }
  std::printf("embed: %d of %zu elements are wrong\n", wrong_rows, rows.size());
  std::printf("segment_sums: %zu segments, %s\n", segments, worst < 1e-5 ? "right" : "wrong");
  std::printf("histogram: %d of %zu counts are wrong\n", wrong_counts, words);
}

// [begin: output]
// embed: 0 of 18000 elements are wrong
// segment_sums: 7 segments, right
// histogram: 0 of 60 counts are wrong
// [end]
