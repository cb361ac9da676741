// Lesson 4 of lib/doc/tutorial.md: multiplies matrices, tile by tile, with sums in float.
#include <tegula/tegula.hpp>

#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using namespace tegula;

// [begin: kernel]
constexpr auto product = kernel("product", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  require(A.extent(1) == B.extent(0), "product: A is M x K and B is K x N, but the two K differ");
  auto g = grid_over(C, shape<64, 128>);
  tile sums = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<64, 128>), [&](auto k, auto sum) {
    return dot(load(A, shape<64, 64>, g[0], k), load(B, shape<64, 128>, k, g[1]), sum);
  });
  store(C, shape<64, 128>, sums, g[0], g[1]);
});
// [end]

int main() {
  std::mt19937 engine(4);
  std::uniform_real_distribution<float> uniform(-1, 1);
  device const where = device::best();
  stream const order(where);

  // [begin: launch]
  std::size_t const m = 100, n = 200, k = 136;
  std::vector<bf16> a(m * k), b(k * n);
  for (bf16& value : a) value = bf16(uniform(engine));
  for (bf16& value : b) value = bf16(uniform(engine));
  buffer<bf16, 2> A(where, m, k), B(where, k, n);
  A.copy_from(a);
  B.copy_from(b);
  buffer<float, 2> C(where, m, n);
  launch(order, product, A, B, C);
  std::vector<float> c(m * n);
  C.copy_to(c);
  // [end]

  double worst = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double expected = 0;
      for (std::size_t l = 0; l < k; ++l)
        expected += static_cast<double>(a[i * k + l]) * static_cast<double>(b[l * n + j]);
      worst = std::max(worst, std::abs(static_cast<double>(c[i * n + j]) - expected));
    }
  std::printf("product of %zu x %zu and %zu x %zu: %s\n", m, k, k, n, worst < 1e-4 ? "right" : "wrong");

  // [begin: paths]
  for (DotPath const& one : facts(product).dots)
    std::printf("on a Hopper GPU: %s of %s\n", name(one.path), one.tiles.c_str());
  // [end]
}

// [begin: output]
// product of 100 x 136 and 136 x 200: right
// on a Hopper GPU: wgmma of 64x128x64xbf16
// [end]
