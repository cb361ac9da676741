// Lesson 8 of lib/doc/tutorial.md: computes mean and deviation of long rows with a struct, a function and a branch.
#include <tegula/tegula.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using namespace tegula;

// [begin: struct]
using Column = tile<float, Shape<16, 1>>;  // the type of a tile: one number for each of 16 rows

/// Holds the count of some numbers, their mean, and the sum of their squared distances from it.
struct Moments {
  Column count, mean, squares;
};
// [end]

// [begin: function]
/// Returns the moments of both sets of numbers together.
constexpr auto joined = function(
    "joined",
    [](Moments a, Moments b) {
      tile count = a.count + b.count;
      tile share = b.count / count;
      tile apart = b.mean - a.mean;
      return Moments{count, a.mean + apart * share, a.squares + b.squares + apart * apart * (a.count * share)};
    },
    noinline);
// [end]

// [begin: kernel]
constexpr auto deviations =
    kernel("deviations", [](in<float, 2> x, out<float, 1> mean, out<float, 1> deviation, arg<int> of_sample) {
      auto g = grid_over(mean, shape<16>);
      auto columns = x.extent(1);
      Column zero = zeros<float>(shape<16, 1>);
      Moments all = loop(ceil_div(columns, 64), Moments{zero, zero, zero}, [&](auto k, Moments before) {
        tile v = load(x, shape<16, 64>, g[0], k);
        tile inside = mask_outside(full(shape<16, 64>, 1.F), axis<1>, k, columns, 0);
        Column count = sum(inside, axis<1>);
        Column m = sum(v, axis<1>) / count;
        Column squares = sum((v - m) * (v - m) * inside, axis<1>);
        return joined(before, Moments{count, m, squares});
      });
      Column divisor = if_(
          of_sample != 0, [&] { return all.count - 1; }, [&] { return all.count; });
      store(mean, shape<16>, squeeze(all.mean, axis<1>), g[0]);
      store(deviation, shape<16>, squeeze(sqrt(all.squares / divisor), axis<1>), g[0]);
    });
// [end]

int main() {
  std::mt19937 engine(8);
  std::uniform_real_distribution<float> uniform(-1, 1);
  device const where = device::best();
  stream const order(where);

  std::size_t const rows = 50, columns = 1000;
  std::vector<float> x(rows * columns), means(rows), deviations_found(rows);
  for (float& value : x) value = 100 + uniform(engine);
  buffer<float, 2> device_x(where, rows, columns);
  device_x.copy_from(x);
  buffer<float> device_means(where, rows), device_deviations(where, rows);

  for (int const of_sample : {0, 1}) {
    launch(order, deviations, device_x, device_means, device_deviations, of_sample);
    device_means.copy_to(means);
    device_deviations.copy_to(deviations_found);
    double worst = 0;
    for (std::size_t i = 0; i < rows; ++i) {
      double mean = 0, squares = 0;
      for (std::size_t j = 0; j < columns; ++j) mean += static_cast<double>(x[i * columns + j]) / columns;
      for (std::size_t j = 0; j < columns; ++j) squares += std::pow(static_cast<double>(x[i * columns + j]) - mean, 2);
      double const expected = std::sqrt(squares / static_cast<double>(columns - (of_sample != 0 ? 1 : 0)));
      worst = std::max(worst, std::abs(static_cast<double>(means[i]) / mean - 1));
      worst = std::max(worst, std::abs(static_cast<double>(deviations_found[i]) / expected - 1));
    }
    std::printf("deviation of %s: %s\n", of_sample != 0 ? "a sample" : "all", worst < 1e-4 ? "right" : "wrong");
  }
}

// [begin: output]
// deviation of all: right
// deviation of a sample: right
// [end]
