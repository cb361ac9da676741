// Solves the exercises of lesson 13. Like the lesson, it is compiled twice.
#ifdef EXPORT_KERNELS

#include <tegula/dsl/dsl.hpp>
#include <tegula/exporter/exporter.hpp>

using namespace tegula;

// [begin: exercise 1]
constexpr auto scaled = kernel("scaled", [](in<float, 1> x, out<float, 1> y, arg<float> factor) {
  auto g = grid_over(y, shape<1024>);
  store(y, shape<1024>, factor * load(x, shape<1024>, g[0]), g[0]);
});
static exported const scaled_entry("scaled", scaled);
// [end]

// [begin: exercise 2]
template <int columns>
constexpr auto row_sums = kernel("row_sums", [](in<float, 2> x, out<float, 1> y) {
  require(x.extent(1) <= columns, "row_sums: a row must fit one tile");
  auto g = grid_over(y, shape<8>);
  store(y, shape<8>, squeeze(sum(load(x, shape<8, columns>, g[0], 0), axis<1>), axis<1>), g[0]);
});
static exported const row_sums_entry("row_sums", configuration(row_sums<128>).up_to(0, 1, 128),
                                     configuration(row_sums<1024>).up_to(0, 1, 1024));
// [end]

// [begin: exercise 3]
CompileOptions exact_options() {
  CompileOptions options;
  options.exact = true;  // every operation is rounded as written
  return options;
}
constexpr auto difference = kernel("difference", [](in<float, 1> x, in<float, 1> y, out<float, 1> z) {
  auto g = grid_over(z, shape<256>);
  tile a = load(x, shape<256>, g[0]);
  tile b = load(y, shape<256>, g[0]);
  store(z, shape<256>, a * b - b * a, g[0]);
});
static exported const difference_entry("difference", difference, exact_options());
// [end]

#else

#include "tutorial_solutions_13_shipping_kernels_kernels.hpp"

#include "support/compare.hpp"  // the program links the runtime alone, so it cannot include <tegula/tegula.hpp>

#include <random>

namespace kernels = tutorial_solutions_13_shipping_kernels_kernels;
using namespace tegula;

namespace {

std::vector<float> random_values(std::size_t count) {
  static std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  for (float& value : values) value = uniform(engine);
  return values;
}

samples::Comparison exercise_1() {
  device const where = device::best();
  std::size_t const n = 3000;
  std::vector<float> const x = random_values(n);
  std::vector<float> found(n);
  buffer<float> const device_x(where, x);
  buffer<float> y(where, n);
  launch(stream(where), kernels::scaled, device_x, y, 2.F);
  y.copy_to(found);
  std::vector<double> expected;
  for (float const value : x) expected.push_back(2 * static_cast<double>(value));
  return samples::compare(found, expected, 0, 0);
}

samples::Comparison exercise_2() {
  device const where = device::best();
  samples::Comparison all(1e-5);
  int refused = 0;
  for (std::size_t const columns : {100, 1000, 2000}) {
    std::size_t const rows = 20;
    std::vector<float> const x = random_values(rows * columns);
    std::vector<float> found(rows);
    buffer<float, 2> device_x(where, rows, columns);
    device_x.copy_from(x);
    buffer<float> y(where, rows);
    try {
      launch(stream(where), kernels::row_sums, device_x, y);
    } catch (UserError const& error) {
      std::puts(error.what());
      ++refused;
      continue;
    }
    y.copy_to(found);
    std::vector<double> expected;
    for (std::size_t i = 0; i < rows; ++i) {
      double sum = 0;
      for (std::size_t j = 0; j < columns; ++j) sum += static_cast<double>(x[i * columns + j]);
      expected.push_back(sum);
    }
    all.join(samples::compare(found, expected, 1, 1e-5));
  }
  all.join(samples::compare(std::vector<int>{refused, static_cast<int>(all.places())}, {1, 40}, 0, 0));
  return all;
}

samples::Comparison exercise_3() {
  device const where = device::best();
  std::size_t const n = 1000;
  std::vector<float> const a = random_values(n), b = random_values(n);
  std::vector<float> found(n);
  buffer<float> const x(where, a), y(where, b);
  buffer<float> z(where, n);
  launch(stream(where), kernels::difference, x, y, z);
  z.copy_to(found);
  return samples::compare(found, std::vector<double>(n, 0), 0, 0);
}

}  // namespace

int main() {
  int number = 0, status = 0;
  for (auto const solution : {exercise_1, exercise_2, exercise_3}) {
    samples::Comparison const found = solution();
    std::printf("exercise %d: %s\n", ++number, found.str().c_str());
    if (!found.right()) status = 1;
  }
  return status;
}

#endif
