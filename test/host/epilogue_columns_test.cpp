// Tests products whose results are wider than one warpgroup holds, and products by warps whose numbers divide thirds,
// fifths and sevenths of rows and columns, with epilogues of vectors, residuals and reductions.
#include <cmath>
#include <random>

#include "support/catch.hpp"
#include "support/executors.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Computes y = a * b + residual, and stores y / |y| * weight + bias for each row.
template <int M, int N, int K>
constexpr auto scaled_rows = kernel("scaled_rows", [](in<bf16, 2> a, in<bf16, 2> b, in<float, 1> weight,
                                                      in<float, 2> bias, in<bf16, 2> residual, out<bf16, 2> c) {
  auto g = grid(ceil_div(c.extent(0), M));
  tile sums = loop(
      ceil_div(a.extent(1), K), zeros<float>(shape<M, N>),
      [&](auto k, auto sum) { return dot(load(a, shape<M, K>, g[0], k), load(b, shape<K, N>, k, 0), sum); }, stages<2>);
  tile y = sums + cast<float>(load(residual, shape<M, N>, g[0], 0));
  tile scale = rsqrt(sum(y * y, axis<1>) + 1.0F);
  tile z = y * scale * expand_dims(load(weight, shape<N>, 0), axis<0>) + load(bias, shape<1, N>, 0, 0);
  store(c, shape<M, N>, cast<bf16>(z), g[0], 0);
});

/// Computes a * b + residual.
template <int M, int N, int K>
constexpr auto with_residual = kernel("with_residual", [](in<bf16, 2> a, in<bf16, 2> b, in<bf16, 2> residual,
                                                          out<float, 2> c) {
  auto g = grid(ceil_div(c.extent(0), M));
  tile sums = loop(
      ceil_div(a.extent(1), K), zeros<float>(shape<M, N>),
      [&](auto k, auto sum) { return dot(load(a, shape<M, K>, g[0], k), load(b, shape<K, N>, k, 0), sum); }, stages<2>);
  store(c, shape<M, N>, sums + cast<float>(load(residual, shape<M, N>, g[0], 0)), g[0], 0);
});

template <class T>
Array<T, 2> random_matrix(std::int64_t rows, std::int64_t columns, std::mt19937& random) {
  Array<T, 2> result({rows, columns});
  std::uniform_real_distribution<float> any(-1, 1);
  for (T& value : result.values) value = T(any(random));
  return result;
}

template <int M, int N, int K>
void check_scaled_rows(Executor executor, std::int64_t rows, std::int64_t depth) {
  std::mt19937 random(static_cast<unsigned>(rows * 1000 + depth + N));
  auto a = random_matrix<bf16>(rows, depth, random), b = random_matrix<bf16>(depth, N, random);
  auto residual = random_matrix<bf16>(rows, N, random), c = random_matrix<bf16>(rows, N, random);
  auto bias = random_matrix<float>(1, N, random);
  Array<float, 1> weight({N});
  for (float& value : weight.values) value = std::uniform_real_distribution<float>(-2, 2)(random);
  INFO(name(executor) << ": " << rows << " x " << N << " x " << depth << " by tiles of " << M << " x " << N << " x "
                      << K);
  auto const k = variants("scaled_rows", variant(with(CompileOptions{}), scaled_rows<M, N, K>));
  TEGULA_CHECK_RUN(executor, k, a, b, weight, bias, residual, c);
  double worst = 0;
  auto const number = [](auto value) { return static_cast<double>(static_cast<float>(value)); };
  for (std::int64_t i = 0; i < rows; ++i) {
    std::vector<double> y(N);
    double squares = 1;
    for (std::int64_t j = 0; j < N; ++j) {
      double sum = number(residual[i * N + j]);
      for (std::int64_t l = 0; l < depth; ++l) sum += number(a[i * depth + l]) * number(b[l * N + j]);
      y[static_cast<std::size_t>(j)] = sum;
      squares += sum * sum;
    }
    for (std::int64_t j = 0; j < N; ++j) {
      double const wanted = y[static_cast<std::size_t>(j)] / std::sqrt(squares) * number(weight[j]) + number(bias[j]);
      worst = std::max(worst, std::abs(number(c[i * N + j]) - wanted) / (std::abs(wanted) + 0.05));
    }
  }
  CHECK(worst < 0.01);
}

template <int M, int N, int K>
void check_residual(Executor executor, std::int64_t rows, std::int64_t depth) {
  std::mt19937 random(static_cast<unsigned>(rows * 1000 + depth + N));
  auto a = random_matrix<bf16>(rows, depth, random), b = random_matrix<bf16>(depth, N, random);
  auto residual = random_matrix<bf16>(rows, N, random);
  auto c = random_matrix<float>(rows, N, random);
  INFO(name(executor) << ": " << rows << " x " << N << " x " << depth);
  auto const k = variants("with_residual", variant(with(CompileOptions{}), with_residual<M, N, K>));
  TEGULA_CHECK_RUN(executor, k, a, b, residual, c);
  double worst = 0;
  auto const number = [](auto value) { return static_cast<double>(static_cast<float>(value)); };
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < N; ++j) {
      double sum = number(residual[i * N + j]);
      for (std::int64_t l = 0; l < depth; ++l) sum += number(a[i * depth + l]) * number(b[l * N + j]);
      worst = std::max(worst, std::abs(number(c[i * N + j]) - sum));
    }
  CHECK(worst < 1e-3);
}

}  // namespace

TEST_CASE("rows that two warpgroups share take weights, biases and residuals by chunks") {
  for (Executor const on : {Executor::host, Executor::warps}) {
    check_scaled_rows<64, 448, 32>(on, 70, 40);
    check_scaled_rows<64, 640, 32>(on, 65, 64);
    check_scaled_rows<64, 768, 32>(on, 64, 40);
    check_scaled_rows<128, 448, 32>(on, 130, 72);
    check_residual<64, 448, 32>(on, 70, 40);
    check_residual<64, 640, 32>(on, 65, 64);
  }
}

TEST_CASE("products by warps take thirds, fifths and sevenths of rows and columns") {
  for (Executor const on : {Executor::host, Executor::warps}) {
    check_scaled_rows<96, 72, 48>(on, 100, 104);
    check_scaled_rows<160, 112, 96>(on, 161, 104);
    check_scaled_rows<112, 112, 96>(on, 113, 200);
    check_scaled_rows<48, 40, 96>(on, 49, 96);
    check_scaled_rows<80, 24, 64>(on, 81, 72);
  }
}
