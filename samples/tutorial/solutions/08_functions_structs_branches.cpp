// Solves the exercises of lesson 8.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

// [begin: exercise 1]
constexpr auto activate = kernel("activate", [](in<float, 1> x, out<float, 1> y, arg<int> kind) {
  auto g = grid_over(y, shape<256>);
  tile v = load(x, shape<256>, g[0]);
  tile result = if_(
      kind == 0, [&] { return max(v, 0); },
      [&] {
        return if_(
            kind == 1, [&] { return v * sigmoid(v); }, [&] { return tanh(v); });
      });
  store(y, shape<256>, result, g[0]);
});
// [end]

Comparison exercise_1() {
  std::size_t const n = 1000;
  device const where = device::best();
  auto const x = random_values<float>(n);
  auto const device_x = filled<float, 1>(where, x, n);
  Comparison all(1e-6);
  for (int const kind : {0, 1, 2}) {
    auto y = poisoned<float, 1>(where, n);
    launch(stream(where), activate, device_x, y, kind);
    std::vector<double> expected;
    for (double const v : exact(x))
      expected.push_back(kind == 0 ? std::max(v, 0.0) : kind == 1 ? v / (1 + std::exp(-v)) : std::tanh(v));
    all.join(compare(read(y), expected, 1, 1e-6));
  }
  return all;
}

// [begin: exercise 2]
int calls_in_for = 0, calls_in_loop = 0;

constexpr auto both_loops = kernel("both_loops", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  tile sum = zeros<float>(shape<256>);
  for (int i = 0; i < 4; ++i) {
    ++calls_in_for;
    sum = sum + load(x, shape<256>, elem(g[0] * 256 + i));
  }
  tile total = loop(4, sum, [&](auto i, auto before) {
    ++calls_in_loop;
    return before + load(x, shape<256>, elem(g[0] * 256 + i));
  });
  store(y, shape<256>, total, g[0]);
});
// [end]

Comparison exercise_2() {
  std::int64_t const n = 1000;
  device const where = device::best();
  auto const x = filled<float, 1>(where, random_values<float>(n), n);
  auto y = poisoned<float, 1>(where, n);
  launch(stream(where), both_loops, x, y);
  return equal({calls_in_for * 1., calls_in_loop * 1.}, {4, 1});
}

// [begin: exercise 3]
struct Best {
  tile<float, Shape<16, 1>> value;
  tile<int, Shape<16, 1>> place;
};

constexpr auto better = function("better", [](Best a, Best b) {
  tile second = b.value > a.value;  // of equal ones the first stays
  return Best{select(second, b.value, a.value), select(second, b.place, a.place)};
});

constexpr auto places_of_maxima = kernel("places_of_maxima", [](in<float, 2> x, out<int, 1> y) {
  auto g = grid_over(y, shape<16>);
  Best none{full(shape<16, 1>, -inf), zeros<int>(shape<16, 1>)};
  Best best = loop(ceil_div(x.extent(1), 64), none, [&](auto k, Best before) {
    tile v = load(x, shape<16, 64>, g[0], k, pad(-inf));
    return better(before, Best{max(v, axis<1>), argmax(v, axis<1>) + cast<int>(k) * 64});
  });
  store(y, shape<16>, squeeze(best.place, axis<1>), g[0]);
});
// [end]

Comparison exercise_3() {
  std::size_t const rows = 40, columns = 300;
  device const where = device::best();
  auto const x = random_values<float>(rows * columns);
  auto y = poisoned<int, 1>(where, rows);
  launch(stream(where), places_of_maxima, filled<float, 2>(where, x, rows, columns), y);
  std::vector<double> expected;
  for (std::size_t i = 0; i < rows; ++i) {
    auto const first = x.begin() + static_cast<std::ptrdiff_t>(i * columns);
    expected.push_back(static_cast<double>(std::max_element(first, first + columns) - first));
  }
  return compare(read(y), expected, 0, 0);
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
