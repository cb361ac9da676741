// Lesson 13 of lib/doc/tutorial.md: embeds kernels, so that the program needs no compiler. The build compiles this file
// twice: with EXPORT_KERNELS for the exporter, and without for the program.
#ifdef EXPORT_KERNELS

// [begin: exported]
#include <tegula/dsl/dsl.hpp>
#include <tegula/exporter/exporter.hpp>

using namespace tegula;

constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  require(x.extent(1) <= 1024, "softmax: a row must fit one tile");
  auto g = grid_over(y, shape<1, 1024>);
  tile v = load(x, shape<1, 1024>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, 1024>, e / sum(e, axis<1>), g[0], 0);
});

template <int BM, int BN>
constexpr auto product = kernel("product", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<BM, BN>);
  tile sums = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<BM, BN>), [&](auto k, auto sum) {
    return dot(load(A, shape<BM, 64>, g[0], k), load(B, shape<64, BN>, k, g[1]), sum);
  });
  store(C, shape<BM, BN>, sums, g[0], g[1]);
});

static exported const softmax_entry("softmax", softmax);
static exported const product_entry("product",
                                    configuration(product<64, 64>).up_to(0, 0, 64),  // argument 0, axis 0: at most 64
                                    configuration(product<128, 256>));
// [end]

#else

// [begin: program]
#include "tutorial_13_shipping_kernels_kernels.hpp"  // written by the build

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

namespace kernels = tutorial_13_shipping_kernels_kernels;
using namespace tegula;

int main() {
  std::mt19937 engine(13);
  std::uniform_real_distribution<float> uniform(-1, 1);
  device const where = device::best();
  stream const order(where);

  std::size_t const rows = 50, columns = 1000;
  std::vector<float> x(rows * columns), y(rows * columns);
  for (float& value : x) value = uniform(engine);
  buffer<float, 2> device_x(where, rows, columns), device_y(where, rows, columns);
  device_x.copy_from(x);
  launch(order, kernels::softmax, device_x, device_y);
  device_y.copy_to(y);
  // [end]

  double worst = 0;
  for (std::size_t i = 0; i < rows; ++i) {
    double total = 0;
    for (std::size_t j = 0; j < columns; ++j) total += std::exp(static_cast<double>(x[i * columns + j]));
    for (std::size_t j = 0; j < columns; ++j)
      worst = std::max(worst, std::abs(static_cast<double>(y[i * columns + j]) -
                                       std::exp(static_cast<double>(x[i * columns + j])) / total));
  }
  std::printf("softmax of %zu rows: %s\n", rows, worst < 1e-6 ? "right" : "wrong");

  for (std::size_t const m : {40, 130}) {
    std::size_t const n = 200, k = 136;
    std::vector<bf16> a(m * k), b(k * n);
    std::vector<float> c(m * n);
    for (bf16& value : a) value = bf16(uniform(engine));
    for (bf16& value : b) value = bf16(uniform(engine));
    buffer<bf16, 2> A(where, m, k), B(where, k, n);
    buffer<float, 2> C(where, m, n);
    A.copy_from(a);
    B.copy_from(b);
    // [begin: prepared]
    prepared const go = prepare(kernels::product, A, B, C);  // checks and packs once
    go(order);
    // [end]
    C.copy_to(c);
    double error = 0;
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::size_t l = 0; l < k; ++l)
          sum += static_cast<double>(a[i * k + l]) * static_cast<double>(b[l * n + j]);
        error = std::max(error, std::abs(static_cast<double>(c[i * n + j]) - sum));
      }
    std::printf("product of %zu rows: %s\n", m, error < 1e-4 ? "right" : "wrong");
  }
}

#endif

// [begin: output]
// softmax of 50 rows: right
// product of 40 rows: right
// product of 130 rows: right
// [end]
