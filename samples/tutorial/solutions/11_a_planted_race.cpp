// Solves the exercises of lesson 11.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

// [begin: exercise 1]
constexpr auto smooth_in_place = kernel("smooth_in_place", [](inout<float, 1> x) {
  auto g = grid_over(x, shape<256>);
  tile next = load(x, shape<256>, elem(g[0] * 256 + 1));
  store(x, shape<256>, (load(x, shape<256>, g[0]) + next) / 2, g[0]);
});

constexpr auto smooth = kernel("smooth", [](in<float, 1> x, out<float, 1> y) {
  auto g = grid_over(y, shape<256>);
  tile next = load(x, shape<256>, elem(g[0] * 256 + 1));
  store(y, shape<256>, (load(x, shape<256>, g[0]) + next) / 2, g[0]);
});
// [end]

Comparison exercise_1() {
  std::vector<float> x = random_values<float>(1000), y(1000);
  std::vector<double> expected;
  for (std::size_t i = 0; i < 1000; ++i)
    expected.push_back((static_cast<double>(x[i]) + (i + 1 < 1000 ? static_cast<double>(x[i + 1]) : 0)) / 2);
  bool const two_are_clean = simulate(smooth, x, y).clean;
  simulation const in_place = simulate(smooth_in_place, x);
  bool const names_element_256 = in_place.report.find("element [256]") != std::string::npos;
  Comparison all = compare(y, expected, 1, 1e-6);
  all.join(equal({two_are_clean ? 1. : 0., in_place.clean ? 1. : 0., names_element_256 ? 1. : 0.}, {1, 0, 1}));
  return all;
}

// [begin: exercise 2]
constexpr auto count_and_look = kernel("count_and_look", [](in<int, 1> x, inout<int, 1> count, out<int, 1> seen) {
  auto g = grid_over(x, shape<256>);
  atomic_add(count, sum(load(x, shape<256>, g[0])), 0);
  store(seen, shape<1>, load(count, shape<1>, 0), g[0]);  // another block may add at this moment
});

constexpr auto count_and_keep = kernel("count_and_keep", [](in<int, 1> x, inout<int, 1> count, out<int, 1> seen) {
  auto g = grid_over(x, shape<256>);
  auto part = sum(load(x, shape<256>, g[0]));
  auto before = atomic_add(count, part, 0);  // what stood there before this addition
  store(seen, shape<1>, full(shape<1>, before + part), g[0]);
});
// [end]

Comparison exercise_2() {
  std::vector<int> const x(1000, 1);
  std::vector<int> count(1, 0), seen(4, -1);
  bool const looking_is_clean = simulate(count_and_look, x, count, seen).clean;
  count[0] = 0;
  bool const keeping_is_clean = simulate(count_and_keep, x, count, seen).clean;
  std::sort(seen.begin(), seen.end());
  return equal({looking_is_clean ? 1. : 0., keeping_is_clean ? 1. : 0., count[0] * 1., seen[3] * 1.},
               {0, 1, 1000, 1000});
}

// [begin: exercise 3]
constexpr auto greatest = kernel("greatest", [](in<int, 1> x, inout<int, 1> result) {
  auto g = grid_over(x, shape<256>);
  atomic_max(result, max(load(x, shape<256>, g[0], pad(-2'147'483'647))), 0);
});
// [end]

Comparison exercise_3() {
  std::vector<int> x;
  for (float const value : random_values<float>(1000)) x.push_back(static_cast<int>(value * 1e6F) - 2'000'000);
  std::vector<int> result(1, -2'147'483'647);
  bool const tiles_are_clean = simulate(greatest, x, result).clean;
  bool const warps_are_clean = simulate(greatest, x, result, schedule::seed(3)).clean;
  return equal({result[0] * 1., tiles_are_clean ? 1. : 0., warps_are_clean ? 1. : 0.},
               {*std::max_element(x.begin(), x.end()) * 1., 1, 1});
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
