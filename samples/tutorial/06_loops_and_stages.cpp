// Lesson 6 of lib/doc/tutorial.md: sums columns in a loop that carries values, and asks what the compiler fetches
// ahead.
#include <tegula/tegula.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using namespace tegula;

// [begin: kernel]
/// Computes the sum and the maximum of each column.
constexpr auto column_statistics =
    kernel("column_statistics", [](in<float, 2> x, out<float, 1> sums, out<float, 1> maxima) {
      auto g = grid_over(sums, shape<64>);
      auto [s, m] = loop(
          ceil_div(x.extent(0), 32), carry(zeros<float>(shape<1, 64>), full(shape<1, 64>, -inf)),
          [&](auto i, auto s0, auto m0) {
            tile v = load(x, shape<32, 64>, i, g[0]);
            tile inside = mask_outside(v, axis<0>, i, x.extent(0), -inf);
            return carry(s0 + sum(v, axis<0>), max(m0, max(inside, axis<0>)));
          },
          stages<4>);
      store(sums, shape<64>, squeeze(s, axis<0>), g[0]);
      store(maxima, shape<64>, squeeze(m, axis<0>), g[0]);
    });
// [end]

// [begin: stages]
template <int depth>
constexpr auto product = kernel("product", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<128, 256>);
  tile sums = loop(
      ceil_div(A.extent(1), 64), zeros<float>(shape<128, 256>),
      [&](auto k, auto sum) { return dot(load(A, shape<128, 64>, g[0], k), load(B, shape<64, 256>, k, g[1]), sum); },
      stages<depth>);
  store(C, shape<128, 256>, sums, g[0], g[1]);
});

template <int depth>
void print_rings() {
  for (RingDepth const& ring : facts(product<depth>).rings)
    std::printf("stages<%d>: the ring of %s has %d stages of %d KiB\n", depth, ring.memory.c_str(), ring.used,
                static_cast<int>(ring.stage_bytes / 1024));
}
// [end]

int main() {
  std::mt19937 engine(6);
  std::uniform_real_distribution<float> uniform(-1, 1);
  device const where = device::best();
  stream const order(where);

  std::size_t const rows = 500, columns = 200;
  std::vector<float> x(rows * columns), sums(columns), maxima(columns);
  for (float& value : x) value = uniform(engine);
  buffer<float, 2> device_x(where, rows, columns);
  device_x.copy_from(x);
  buffer<float> device_sums(where, columns), device_maxima(where, columns);
  launch(order, column_statistics, device_x, device_sums, device_maxima);
  device_sums.copy_to(sums);
  device_maxima.copy_to(maxima);

  double worst = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    double sum = 0, greatest = -1;
    for (std::size_t i = 0; i < rows; ++i) {
      sum += static_cast<double>(x[i * columns + j]);
      greatest = std::max(greatest, static_cast<double>(x[i * columns + j]));
    }
    worst = std::max(worst, std::abs(static_cast<double>(sums[j]) - sum));
    worst = std::max(worst, std::abs(static_cast<double>(maxima[j]) - greatest));
  }
  std::printf("statistics of %zu columns: %s\n", columns, worst < 1e-4 ? "right" : "wrong");
  print_rings<2>();
  print_rings<3>();
  print_rings<8>();
}

// [begin: output]
// statistics of 200 columns: right
// stages<2>: the ring of in0, in1 has 2 stages of 48 KiB
// stages<3>: the ring of in0, in1 has 3 stages of 48 KiB
// stages<8>: the ring of in0, in1 has 4 stages of 48 KiB
// [end]
