// Lesson 5 of lib/doc/tutorial.md: adds a bias and applies an activation at the end of a product.
#include <tegula/tegula.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <vector>

using namespace tegula;

// [begin: kernel]
template <int BM, int BN, class Epilogue>
constexpr auto layer(Epilogue epilogue) {
  return kernel("layer", [epilogue](in<bf16, 2> X, in<bf16, 2> W, in<float, 1> bias, out<bf16, 2> Y) {
    require(X.extent(1) == W.extent(0), "layer: X is M x K and W is K x N, but the two K differ");
    require(bias.extent(0) == Y.extent(1), "layer: bias must have an element for each column of Y");
    auto g = grid_over(Y, shape<BM, BN>);
    tile sums = loop(ceil_div(X.extent(1), 64), zeros<float>(shape<BM, BN>), [&](auto k, auto sum) {
      return dot(load(X, shape<BM, 64>, g[0], k), load(W, shape<64, BN>, k, g[1]), sum);
    });
    tile b = expand_dims(load(bias, shape<BN>, g[1]), axis<0>);  // 1 x BN
    store(Y, shape<BM, BN>, cast<bf16>(epilogue(sums, b)), g[0], g[1]);
  });
}
// [end]

// [begin: epilogue]
constexpr auto bias_relu = [](auto sum, auto b) { return max(sum + b, 0); };

// The same lambda runs on single numbers of the host, here while the program is compiled.
static_assert(bias_relu(host(2.F), host(-3.F)) == 0.F);
static_assert(bias_relu(host(2.F), host(-0.5F)) == 1.5F);
// [end]

int main() {
  std::mt19937 engine(5);
  std::uniform_real_distribution<float> uniform(-1, 1);
  device const where = device::best();
  stream const order(where);

  std::size_t const m = 100, n = 200, k = 136;
  std::vector<bf16> x(m * k), w(k * n), y(m * n);
  std::vector<float> bias(n);
  for (bf16& value : x) value = bf16(uniform(engine));
  for (bf16& value : w) value = bf16(uniform(engine));
  for (float& value : bias) value = uniform(engine);
  buffer<bf16, 2> X(where, m, k), W(where, k, n), Y(where, m, n);
  X.copy_from(x);
  W.copy_from(w);
  buffer<float> const device_bias(where, bias);
  // [begin: launch]
  launch(order, layer<64, 128>(bias_relu), X, W, device_bias, Y);
  // [end]
  Y.copy_to(y);

  double worst = 0;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = static_cast<double>(bias[j]);
      for (std::size_t l = 0; l < k; ++l) sum += static_cast<double>(x[i * k + l]) * static_cast<double>(w[l * n + j]);
      double const expected = std::max(sum, 0.0);
      worst = std::max(worst, std::abs(static_cast<double>(y[i * n + j]) - expected) / (1 + expected));
    }
  std::printf("layer of %zu x %zu outputs: %s\n", m, n, worst < 4e-3 ? "right" : "wrong");  // bf16 has 8 bits
}

// [begin: output]
// layer of 100 x 200 outputs: right
// [end]
