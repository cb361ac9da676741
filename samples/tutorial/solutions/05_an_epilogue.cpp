// Solves the exercises of lesson 5.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

template <int BM, int BN, class Epilogue>
constexpr auto layer(Epilogue epilogue) {
  return kernel("layer", [epilogue](in<bf16, 2> X, in<bf16, 2> W, in<float, 1> bias, out<bf16, 2> Y) {
    require(X.extent(1) == W.extent(0), "layer: X is M x K and W is K x N, but the two K differ");
    auto g = grid_over(Y, shape<BM, BN>);
    tile sums = loop(ceil_div(X.extent(1), 64), zeros<float>(shape<BM, BN>), [&](auto k, auto sum) {
      return dot(load(X, shape<BM, 64>, g[0], k), load(W, shape<64, BN>, k, g[1]), sum);
    });
    tile b = expand_dims(load(bias, shape<BN>, g[1]), axis<0>);
    store(Y, shape<BM, BN>, cast<bf16>(epilogue(sums, b)), g[0], g[1]);
  });
}

/// Holds the inputs of a layer, and its sums with the bias in double.
struct Layer {
  std::size_t m = 70, n = 150, k = 88;
  device where = device::best();
  std::vector<bf16> x = random_values<bf16>(m * k), w = random_values<bf16>(k * n);
  std::vector<float> bias = random_values<float>(n);
  buffer<bf16, 2> X = filled<bf16, 2>(where, x, m, k), W = filled<bf16, 2>(where, w, k, n);
  buffer<float, 1> B = filled<float, 1>(where, bias, n);
  std::vector<double> sums;
  Layer() {
    auto const a = exact(x), b = exact(w);
    for (std::size_t i = 0; i < m; ++i)
      for (std::size_t j = 0; j < n; ++j) {
        double sum = static_cast<double>(bias[j]);
        for (std::size_t l = 0; l < k; ++l) sum += a[i * k + l] * b[l * n + j];
        sums.push_back(sum);
      }
  }
};

// [begin: exercise 1]
constexpr auto bias_silu = [](auto sum, auto b) {
  auto v = let(sum + b);  // used twice, computed once
  return v * sigmoid(v);
};
// [end]

Comparison exercise_1() {
  Layer const layers;
  auto Y = poisoned<bf16, 2>(layers.where, layers.m, layers.n);
  launch(stream(layers.where), layer<64, 128>(bias_silu), layers.X, layers.W, layers.B, Y);
  std::vector<double> expected;
  for (double const sum : layers.sums) expected.push_back(sum / (1 + std::exp(-sum)));
  return compare(read(Y), expected, 1, 4e-3);
}

// [begin: exercise 2]
constexpr auto activate = kernel("activate", [](in<float, 2> X, in<float, 1> bias, out<float, 2> Y) {
  auto g = grid_over(Y, shape<32, 128>);
  tile b = expand_dims(load(bias, shape<128>, g[1]), axis<0>);
  store(Y, shape<32, 128>, max(load(X, shape<32, 128>, g[0], g[1]) + b, 0), g[0], g[1]);
});

/// Asks for the shortest time that an H200 can take, by its memory alone. Nothing runs, so the tensors have no memory.
double milliseconds_of_activation(std::int64_t m, std::int64_t n) {
  device_view<float, 2> const x(reinterpret_cast<float*>(std::uintptr_t{1} << 40), {m, n});
  device_view<float, 2> const y(reinterpret_cast<float*>(std::uintptr_t{1} << 41), {m, n});
  device_view<float, 1> const bias(reinterpret_cast<float*>(std::uintptr_t{1} << 42), {n});
  return 1e3 * advice(sm_90a, activate, x, bias, y).min_seconds;
}
// [end]

Comparison exercise_2() {
  return compare(std::vector<double>{milliseconds_of_activation(8192, 8192)}, {8192.0 * 8192 * 8 / 4.6e12 * 1e3}, 0,
                 0.05);
}

// [begin: exercise 3]
constexpr auto residual_layer =
    kernel("residual_layer", [](in<bf16, 2> X, in<bf16, 2> W, in<bf16, 2> R, out<bf16, 2> Y, out<bf16, 2> active) {
      require(X.extent(1) == W.extent(0), "residual_layer: X is M x K and W is K x N, but the two K differ");
      auto g = grid_over(Y, shape<64, 128>);
      tile sums = loop(ceil_div(X.extent(1), 64), zeros<float>(shape<64, 128>), [&](auto k, auto sum) {
        return dot(load(X, shape<64, 64>, g[0], k), load(W, shape<64, 128>, k, g[1]), sum);
      });
      tile y = sums + cast<float>(load(R, shape<64, 128>, g[0], g[1]));
      store(Y, shape<64, 128>, cast<bf16>(y), g[0], g[1]);
      store(active, shape<64, 128>, cast<bf16>(max(y, 0)), g[0], g[1]);
    });
// [end]

Comparison exercise_3() {
  Layer const layers;
  auto const r = random_values<bf16>(layers.m * layers.n);
  auto Y = poisoned<bf16, 2>(layers.where, layers.m, layers.n);
  auto active = poisoned<bf16, 2>(layers.where, layers.m, layers.n);
  launch(stream(layers.where), residual_layer, layers.X, layers.W, filled<bf16, 2>(layers.where, r, layers.m, layers.n),
         Y, active);
  std::vector<double> expected, expected_active;
  for (std::size_t at = 0; at < r.size(); ++at) {
    expected.push_back(layers.sums[at] - static_cast<double>(layers.bias[at % layers.n]) + static_cast<double>(r[at]));
    expected_active.push_back(std::max(expected.back(), 0.0));
  }
  Comparison all = compare(read(Y), expected, 1, 4e-3);
  all.join(compare(read(active), expected_active, 1, 4e-3));
  return all;
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
