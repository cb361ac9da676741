// Tests products that are added without rounding: on every executor alike, and not where the options keep them apart.
#include <cmath>
#include <random>
#include <vector>

#include "launch_support.hpp"
#include "support/catch.hpp"
#include "support/options.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

namespace {

template <class T>
inline constexpr auto sums = kernel("sums",
                                    [](in<T, 1> a, in<T, 1> b, in<T, 1> c, arg<T> factor, out<T, 1> y, out<T, 1> z) {
                                      auto g = grid_over(y, shape<64>);
                                      tile x = load(a, shape<64>, g[0]);
                                      tile w = load(b, shape<64>, g[0]);
                                      tile v = load(c, shape<64>, g[0]);
                                      store(y, shape<64>, x * w - v, g[0]);
                                      store(z, shape<64>, v - x * (factor * factor + factor), g[0]);
                                    });

/// Reads a product twice: as it is, and in a sum.
inline constexpr auto shared_product = kernel("shared_product", [](in<float, 1> a, out<float, 1> y, out<float, 1> z) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(a, shape<64>, g[0]) * load(a, shape<64>, g[0]), g[0]);
  store(z, shape<64>, load(a, shape<64>, g[0]) * load(a, shape<64>, g[0]) + load(a, shape<64>, g[0]), g[0]);
});

template <class T>
struct Problem {
  explicit Problem(std::uint64_t seed) : a(200), b(200), c(200), y(200), z(200) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<T> number(-2, 2);
    factor = number(random);
    for (std::size_t i = 0; i < a.size(); ++i) {
      a[i] = number(random);
      b[i] = number(random);
      c[i] = i % 3 == 0 ? a[i] * b[i] : number(random);  // what cancels shows every bit
    }
  }
  [[nodiscard]] std::vector<T> products(bool contracted) const {
    std::vector<T> result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      T volatile const product = a[i] * b[i];
      result[i] = contracted ? std::fma(a[i], b[i], -c[i]) : product - c[i];
    }
    return result;
  }
  [[nodiscard]] std::vector<T> differences(bool contracted) const {
    T volatile const square = factor * factor;
    T const scale = contracted ? std::fma(factor, factor, factor) : square + factor;
    std::vector<T> result(a.size());
    for (std::size_t i = 0; i < a.size(); ++i) {
      T volatile const product = a[i] * scale;
      result[i] = contracted ? std::fma(-a[i], scale, c[i]) : c[i] - product;
    }
    return result;
  }
  void check(bool contracted) const {
    CHECK(y == products(contracted));
    CHECK(z == differences(contracted));
  }

  T factor = 0;
  std::vector<T> a, b, c, y, z;
};

template <class T>
void check_on_all_executors(with const& options, bool contracted, std::uint64_t seed) {
  Problem<T> problem(seed);
  auto const& [factor, a, b, c, y, z] = problem;
  auto const cleared = [&]() -> Problem<T>& {
    problem.y.assign(problem.y.size(), -1);
    problem.z = problem.y;
    return problem;
  };
  Problem<T>& p = cleared();
  launch(host_stream(), options, sums<T>, a, b, c, factor, p.y, p.z);
  problem.check(contracted);
  cleared();
  REQUIRE(simulate(options, sums<T>, a, b, c, factor, p.y, p.z).clean);
  problem.check(contracted);
  cleared();
  REQUIRE(simulate(options, sums<T>, a, b, c, factor, p.y, p.z, schedule::seed(seed)).clean);
  problem.check(contracted);
}

}  // namespace

TEST_CASE("products meet sums unrounded on every executor", "[L9]") {
  test::FreshCaches const caches(support::CacheMode::off);
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    check_on_all_executors<float>(with({}), true, seed);
    check_on_all_executors<double>(with({}), true, seed);
  }
}

TEST_CASE("exact arithmetic and contraction = off keep products and sums apart", "[L9]") {
  test::FreshCaches const caches(support::CacheMode::off);
  CompileOptions options;
  options.contraction = Choice::off;
  check_on_all_executors<float>(with(options), false, 4);
  check_on_all_executors<double>(with(options), false, 5);
  options = {};
  options.exact = true;
  check_on_all_executors<float>(with(options), false, 6);
  support::Options environment = support::options();
  environment.uncontracted = true;
  support::ScopedOptions const scope(environment);
  check_on_all_executors<float>(with({}), false, 7);
}

TEST_CASE("a product that something else reads too is rounded, however often the text states it", "[L9]") {
  test::FreshCaches const caches(support::CacheMode::off);
  Problem<float> problem(8);
  launch(host_stream(), shared_product, problem.a, problem.y, problem.z);
  for (std::size_t i = 0; i < problem.a.size(); ++i) {
    float volatile const product = problem.a[i] * problem.a[i];
    CHECK(problem.z[i] == product + problem.a[i]);
  }
}

TEST_CASE("explain says how products are rounded", "[L9]") {
  test::FreshCaches const caches(support::CacheMode::off);
  Problem<float> p(9);
  CompileOptions options;
  CHECK_THAT(explain(with(options), sums<float>, p.a, p.b, p.c, p.factor, p.y, p.z),
             ContainsSubstring("products: added without rounding (fma)"));
  options.contraction = Choice::off;
  CHECK_THAT(explain(with(options), sums<float>, p.a, p.b, p.c, p.factor, p.y, p.z),
             ContainsSubstring("products: rounded before they are added (contraction = off)"));
  options.exact = true;
  CHECK_THAT(explain(with(options), sums<float>, p.a, p.b, p.c, p.factor, p.y, p.z),
             ContainsSubstring("products: rounded before they are added (exact)"));
}

#if defined(__x86_64__)
TEST_CASE("a CPU without FMA instructions rounds products, and explain says so", "[L9]") {
  test::FreshCaches const caches(support::CacheMode::off);
  support::Options environment = support::options();
  environment.device = "host";
  environment.host_cpu = "x86-64-v2";
  support::ScopedOptions const scope(environment);
  Problem<float> p(10);
  launch(host_stream(), sums<float>, p.a, p.b, p.c, p.factor, p.y, p.z);
  p.check(false);
  CHECK_THAT(explain(sums<float>, p.a, p.b, p.c, p.factor, p.y, p.z),
             ContainsSubstring("products: rounded before they are added (the CPU has no FMA instructions)"));
}
#endif
