// Solves the exercises of lesson 10.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

template <class T, class... Extents>
auto somewhere(std::uintptr_t number, Extents... extents) {
  return device_view<T, sizeof...(Extents)>(reinterpret_cast<T*>(number << 40), {extents...});
}

// [begin: exercise 1]
constexpr auto product_of_columns = kernel("product_of_columns", [](in<float, 2> A, in<float, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<128, 128>);
  tile sums = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<128, 128>), [&](auto k, auto sum) {
    return dot(load(A, shape<128, 64>, g[0], k), load(B, shape<64, 128>, k, g[1]), sum, tf32);
  });
  store(C, shape<128, 128>, sums, g[0], g[1]);
});
// [end]

Comparison exercise_1() {
  std::int64_t const n = 8192;
  Advice const found = advice(sm_90a, product_of_columns, somewhere<float>(1, n, n), somewhere<float>(2, n, n),
                              somewhere<float>(3, n, n));
  if (found.slow.empty()) return Comparison();
  std::puts(found.slow.front().remedy.c_str());
  return equal({found.slow.front().kind == SlowSpot::Kind::product ? 1. : 0.,
                facts(product_of_columns).dots.front().path == Path::mma ? 1. : 0.},
               {1, 1});
}

// [begin: exercise 2]
constexpr auto doubled = kernel("doubled", [](in<bf16, 2> x, out<bf16, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, load(x, shape<64, 64>, g[0], g[1]) * 2, g[0], g[1]);
});

/// Takes x with exchanged axes.
constexpr auto doubled_of_transposed = kernel("doubled_of_transposed", [](in<bf16, 2> x, out<bf16, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, trans(load(x, shape<64, 64>, g[1], g[0])) * 2, g[0], g[1]);
});
// [end]

Comparison exercise_2() {
  std::int64_t const n = 8192;
  auto const y = somewhere<bf16>(2, n, n);
  device_view<bf16, 2> const columns(reinterpret_cast<bf16*>(std::uintptr_t{1} << 40), {n, n}, {1, n});
  Advice const before = advice(sm_90a, doubled, columns, y);
  Advice const after = advice(sm_90a, doubled_of_transposed, somewhere<bf16>(1, n, n), y);
  bool const named = !before.slow.empty() && before.slow.front().kind == SlowSpot::Kind::narrow_access;

  std::size_t const rows = 70, width = 90;
  device const where = device::best();
  auto const x = random_values<bf16>(rows * width);
  auto out = poisoned<bf16, 2>(where, width, rows);
  launch(stream(where), doubled_of_transposed, filled<bf16, 2>(where, x, rows, width), out);
  std::vector<double> expected;
  for (std::size_t j = 0; j < width; ++j)
    for (std::size_t i = 0; i < rows; ++i) expected.push_back(2 * static_cast<double>(x[i * width + j]));
  Comparison all = equal({named ? 1. : 0., static_cast<double>(after.slow.size())}, {1, 0});
  all.join(compare(read(out), expected, 0, 0));
  return all;
}

// [begin: exercise 3]
template <int columns>
constexpr auto copied = kernel("copied", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<64, columns>);
  store(y, shape<64, columns>, load(x, shape<64, columns>, g[0], g[1]), g[0], g[1]);
});

/// Fails where a kernel loses speed by something that is known to help.
template <class Kernel>
bool has_no_slow_spot(Kernel const& kernel) {
  std::int64_t const n = 8192;
  Advice const found = advice(sm_90a, kernel, somewhere<float>(1, n, n), somewhere<float>(2, n, n));
  std::fputs(found.str().c_str(), stdout);
  return found.slow.empty() && facts(kernel).wasted_sectors() == 0;
}
// [end]

Comparison exercise_3() {
  return equal({has_no_slow_spot(copied<4>) ? 1. : 0., has_no_slow_spot(copied<64>) ? 1. : 0.}, {0, 1});
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
