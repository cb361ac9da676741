// Solves the exercises of lesson 4.
#include "exercises.hpp"

using namespace tegula;
using namespace exercises;

/// Multiplies in double: C[i, j] is the sum of A[i, l] * B[l, j], with the elements where the caller says.
template <class A, class B>
std::vector<double> expected_product(std::size_t m, std::size_t n, std::size_t k, A const& a, B const& b) {
  std::vector<double> result;
  for (std::size_t i = 0; i < m; ++i)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (std::size_t l = 0; l < k; ++l) sum += a(i, l) * b(l, j);
      result.push_back(sum);
    }
  return result;
}

// [begin: exercise 1]
constexpr auto product_of_rows = kernel("product_of_rows", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  require(A.extent(1) == B.extent(1), "product_of_rows: A is M x K and B is N x K, but the two K differ");
  auto g = grid_over(C, shape<64, 128>);
  tile sums = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<64, 128>), [&](auto k, auto sum) {
    return dot(load(A, shape<64, 64>, g[0], k), trans(load(B, shape<128, 64>, g[1], k)), sum);
  });
  store(C, shape<64, 128>, sums, g[0], g[1]);
});
// [end]

Comparison exercise_1() {
  std::size_t const m = 70, n = 150, k = 88;
  device const where = device::best();
  auto const a = random_values<bf16>(m * k), b = random_values<bf16>(n * k);
  auto C = poisoned<float, 2>(where, m, n);
  launch(stream(where), product_of_rows, filled<bf16, 2>(where, a, m, k), filled<bf16, 2>(where, b, n, k), C);
  auto const x = exact(a), y = exact(b);
  return compare(
      read(C),
      expected_product(
          m, n, k, [&](auto i, auto l) { return x[i * k + l]; }, [&](auto l, auto j) { return y[j * k + l]; }),
      1, 1e-5);
}

// [begin: exercise 2]
constexpr auto padded_by_1 = kernel("padded_by_1", [](in<bf16, 2> A, in<bf16, 2> B, out<float, 2> C) {
  auto g = grid_over(C, shape<64, 128>);
  tile sums = loop(ceil_div(A.extent(1), 64), zeros<float>(shape<64, 128>), [&](auto k, auto sum) {
    return dot(load(A, shape<64, 64>, g[0], k, pad(1)), load(B, shape<64, 128>, k, g[1], pad(1)), sum);
  });
  store(C, shape<64, 128>, sums, g[0], g[1]);
});
// [end]

Comparison exercise_2() {
  std::size_t const m = 64, n = 128, k = 104;
  device const where = device::best();
  auto const a = random_values<bf16>(m * k), b = random_values<bf16>(k * n);
  auto C = poisoned<float, 2>(where, m, n);
  launch(stream(where), padded_by_1, filled<bf16, 2>(where, a, m, k), filled<bf16, 2>(where, b, k, n), C);
  auto const x = exact(a), y = exact(b);
  auto expected = expected_product(
      m, n, k, [&](auto i, auto l) { return x[i * k + l]; }, [&](auto l, auto j) { return y[l * n + j]; });
  for (double& value : expected) value += 128 - 104;  // 1 * 1 for each place of K outside
  return compare(read(C), expected, 1, 1e-5);
}

// [begin: exercise 3]
constexpr auto products = kernel("products", [](in<bf16, 3> A, in<bf16, 3> B, out<float, 3> C) {
  require(A.extent(2) == B.extent(1), "products: each A is M x K and each B is K x N, but the two K differ");
  auto g = grid_over(C, shape<64, 128>);  // one block per matrix along the axis that the shape lacks
  tile sums = loop(ceil_div(A.extent(2), 64), zeros<float>(shape<64, 128>), [&](auto k, auto sum) {
    return dot(load(A, shape<64, 64>, g[0], g[1], k), load(B, shape<64, 128>, g[0], k, g[2]), sum);
  });
  store(C, shape<64, 128>, sums, g[0], g[1], g[2]);
});
// [end]

Comparison exercise_3() {
  std::size_t const batch = 3, m = 70, n = 150, k = 88;
  device const where = device::best();
  auto const a = random_values<bf16>(batch * m * k), b = random_values<bf16>(batch * k * n);
  auto C = poisoned<float, 3>(where, batch, m, n);
  launch(stream(where), products, filled<bf16, 3>(where, a, batch, m, k), filled<bf16, 3>(where, b, batch, k, n), C);
  auto const x = exact(a), y = exact(b);
  std::vector<double> expected;
  for (std::size_t at = 0; at < batch; ++at)
    for (double const value : expected_product(
             m, n, k, [&](auto i, auto l) { return x[(at * m + i) * k + l]; },
             [&](auto l, auto j) { return y[(at * k + l) * n + j]; }))
      expected.push_back(value);
  return compare(read(C), expected, 1, 1e-5);
}

int main() { return run({exercise_1, exercise_2, exercise_3}); }
