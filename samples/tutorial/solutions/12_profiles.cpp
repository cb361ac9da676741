// Solves the exercises of lesson 12.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

// [begin: exercise 1]
constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 1024>);
  tile v = load(x, shape<1, 1024>, g[0], 0, pad(-inf));
  record(start, "maximum");
  tile m = max(v, axis<1>);
  record(stop, "maximum");
  record(start, "exponentials");
  tile e = exp(v - m);
  record(stop, "exponentials");
  record(start, "sum");
  tile s = sum(e, axis<1>);
  record(stop, "sum");
  store(y, shape<1, 1024>, e / s, g[0], 0);
});

/// Returns the name with the greatest sum of times.
std::string slowest(Profile const& found) {
  std::string result;
  double most = 0;
  for (ProfileStatistic const& one : found.statistics())
    if (one.sum > most) most = one.sum, result = found.label(one.name);
  return result;
}
// [end]

Comparison exercise_1() {
  CompileOptions options;
  options.profile.user = true;
  buffer<float, 2> x(device::host(), 8, 1000), y(device::host(), 8, 1000);
  x.copy_from(random_values<float>(8 * 1000));
  Profile const found = simulate(with(options), softmax, x, y, schedule::timed()).profile;
  std::fputs(found.str().c_str(), stdout);
  return equal({slowest(found) == "maximum" ? 1. : 0., static_cast<double>(found.statistics().size())}, {1, 3});
}

// [begin: exercise 2]
template <int depth>
constexpr auto product = kernel("product", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<64, 64>);
  tile sums = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto k, auto sum) { return dot(load(A, shape<64, 64>, g[0], k), load(B, shape<64, 64>, k, g[1]), sum); },
      stages<depth>);
  store(C, shape<64, 64>, sums, g[0], g[1]);
});

/// Returns the share of their time that consumers wait for stages, in per cent.
template <int depth>
double consumers_wait() {
  CompileOptions options;
  options.profile.compiler = true;
  buffer<bf16, 2> A(device::host(), 128, 1024), B(device::host(), 1024, 128);
  A.fill(bf16(1.F));
  B.fill(bf16(1.F));
  buffer<float, 2> C(device::host(), 128, 128);
  auto const waits = simulate(with(options), product<depth>, A, B, C, schedule::timed()).profile.waits();
  return waits.at(0).consumers;
}
// [end]

Comparison exercise_2() {
  double const shallow = consumers_wait<2>(), deep = consumers_wait<8>();
  std::printf("2 stages: %.0f %%, 8 stages: %.0f %%\n", shallow, deep);
  return equal({shallow > deep ? 1. : 0.}, {1});
}

// [begin: exercise 3]
constexpr auto marked_sum = kernel("marked_sum", [](in<float, 2> x, out<float, 1> y) {
  auto g = grid_over(y, shape<16>);
  tile total = loop(ceil_div(x.extent(1), 256), zeros<float>(shape<16, 1>), [&](auto k, auto before) {
    region step("step", k);
    return let(before + sum(load(x, shape<16, 256>, g[0], k), axis<1>));  // recorded before the region ends
  });
  store(y, shape<16>, squeeze(total, axis<1>), g[0]);
});
// [end]

Comparison exercise_3() {
  std::int64_t const rows = 32, columns = 1000;
  CompileOptions options;
  options.profile.user = true;
  options.profile.granularity = ProfileGranularity::cta;
  device const where = device::best();
  auto const x = random_values<float>(rows * columns);
  auto y = poisoned<float, 1>(where, rows);
  Profile const found = profile(stream(where), with(options), marked_sum, filled<float, 2>(where, x, rows, columns), y);
  std::vector<double> steps, expected_steps;  // the number that each step recorded
  for (ProfileEvent const& event : found.events) steps.push_back(static_cast<double>(event.value.value_or(-1)));
  for (int block = 0; block < 2; ++block)
    for (int step = 0; step < 4; ++step) expected_steps.push_back(step);
  std::vector<double> expected;
  for (std::size_t i = 0; i < rows; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < columns; ++j) sum += static_cast<double>(x[i * columns + j]);
    expected.push_back(sum);
  }
  Comparison all = compare(read(y), expected, 1, 1e-5);
  all.join(equal(steps, expected_steps));
  return all;
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
