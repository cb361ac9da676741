// Solves the exercises of lesson 6.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

// [begin: exercise 1]
template <class Stages>
constexpr auto product(Stages stages) {
  return kernel("product", [stages](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
    auto g = grid_over(C, shape<128, 256>);
    tile sums = loop(
        ceil_div(A.extent(1), 64), zeros<float>(shape<128, 256>),
        [&](auto k, auto sum) { return dot(load(A, shape<128, 64>, g[0], k), load(B, shape<64, 256>, k, g[1]), sum); },
        stages);
    store(C, shape<128, 256>, sums, g[0], g[1]);
  });
}

bool is_refused() {
  try {
    static_cast<void>(facts(product(exactly(stages<8>))));
    return false;
  } catch (UserError const& error) {
    std::puts(error.what());  // names the bytes that are needed and allowed
    return true;
  }
}
// [end]

Comparison exercise_1() { return equal({is_refused() ? 1. : 0., budget(product(stages<8>)).fits() ? 1. : 0.}, {1, 1}); }

// [begin: exercise 2]
constexpr auto a_tile = ring_tile<bf16>(shape<128, 64>);  // 16 KiB
constexpr auto b_tile = ring_tile<bf16>(shape<64, 128>);  // 16 KiB
static_assert(budget(stages<7>, a_tile, b_tile).shared <= sm_90a.shared);
static_assert(budget(stages<8>, a_tile, b_tile).shared > sm_90a.shared);
// [end]

Comparison exercise_2() { return equal({budget(stages<7>, a_tile, b_tile).shared / 1024.}, {7 * 32 + 14 * 8 / 1024.}); }

// [begin: exercise 3]
constexpr auto matrix_times_vector = kernel("matrix_times_vector", [](in<float, 2> A, in<float, 1> x, out<float, 1> y) {
  require(A.extent(1) == x.extent(0), "matrix_times_vector: each column of A has an element of x");
  auto g = grid_over(y, shape<16>);
  tile products = loop(
      ceil_div(A.extent(1), 256), zeros<float>(shape<16, 256>),
      [&](auto k, auto before) {
        tile part = expand_dims(load(x, shape<256>, k), axis<0>);  // 1 x 256
        return before + load(A, shape<16, 256>, g[0], k) * part;
      },
      stages<4>);
  store(y, shape<16>, squeeze(sum(products, axis<1>), axis<1>), g[0]);  // one reduction, after the loop
});
// [end]

Comparison exercise_3() {
  std::size_t const rows = 100, columns = 1000;
  device const where = device::best();
  auto const a = random_values<float>(rows * columns), x = random_values<float>(columns);
  auto y = poisoned<float, 1>(where, rows);
  launch(stream(where), matrix_times_vector, filled<float, 2>(where, a, rows, columns),
         filled<float, 1>(where, x, columns), y);
  std::vector<double> expected;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j)
      sum += static_cast<double>(a[i * columns + j]) * static_cast<double>(x[j]);
    expected.push_back(sum);
  }
  return compare(read(y), expected, 1, 1e-5);
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
