// Compares the kernels of the design's first page in the simulator with float64, at ragged extents and through strided
// views.
#include <algorithm>
#include <array>
#include <cmath>

#include "../unit/sim/sim_support.hpp"
#include "sim/compare.hpp"
#include "support/golden.hpp"
#include "support/module.hpp"
#include "support/count_allocations.hpp"

using namespace tegula;
using test::HostTensor;

namespace {

ir::Module load_kernel(std::string const& name) {
  return test::module_of(test::read_file(std::string(TEGULA_TEST_DIR) + "/ir/roundtrip/" + name + ".tir"));
}

/// Runs under a few orders, with every output element checked to be written.
void run_checked(ir::Module const& module, sim::Arguments const& arguments) {
  sim::Options options;
  options.report_unwritten = true;
  auto const outcome = sim::explore_orders(module.kernel(), arguments, 3, options);
  INFO(outcome.text);
  INFO(outcome.first_report.str());
  CHECK(outcome.agree());
  CHECK(outcome.first_report.clean());
}

}  // namespace

TEST_CASE("vadd at ragged extents", "[sim]") {
  auto const module = load_kernel("vadd");
  std::mt19937_64 random(40);
  for (std::int64_t n : {1, 2, 127, 128, 129, 1000, 1024, 3001}) {
    HostTensor a(Element::f32, {n}), b(Element::f32, {n}), c(Element::f32, {n}, 5);
    a.fill(random), b.fill(random);
    run_checked(module, {a.view(), b.view(), c.view()});
    CHECK(c.gaps_untouched());
    for (std::int64_t i = 0; i < n; ++i)
      REQUIRE(c(i) == static_cast<double>(static_cast<float>(a(i)) + static_cast<float>(b(i))));
  }
}

TEST_CASE("softmax of ragged rows", "[sim]") {
  auto const module = load_kernel("softmax");
  std::mt19937_64 random(41);
  for (auto const& [rows, columns] :
       {std::pair<std::int64_t, std::int64_t>{1, 1}, {3, 256}, {5, 255}, {4, 17}, {2, 100}}) {
    HostTensor x = HostTensor::transposed(Element::f32, {rows, columns});
    HostTensor y(Element::f32, {rows, columns}, 7);
    x.fill(random, -20, 20);
    run_checked(module, {x.view(), y.view()});
    CHECK(y.gaps_untouched());
    samples::Comparison all(1);
    for (std::int64_t r = 0; r < rows; ++r) {
      double max = -INFINITY, sum = 0;
      for (std::int64_t c = 0; c < columns; ++c) max = std::max(max, x(r, c));
      for (std::int64_t c = 0; c < columns; ++c) sum += std::exp(x(r, c) - max);
      for (std::int64_t c = 0; c < columns; ++c) {
        double const exact = std::exp(x(r, c) - max) / sum;
        all.add(r * columns + c, y(r, c), exact, 1e-5 * exact + 1e-30, y.unwritten(r * columns + c));
      }
    }
    CHECK(all.failure() == "");
  }
  HostTensor wide(Element::f32, {2, 257}), out(Element::f32, {2, 257});
  CHECK_THROWS_WITH(sim::run(module.kernel(), {wide.view(), out.view()}),
                    test::ContainsSubstring("softmax: a row must fit one tile"));
}

TEST_CASE("gemm with bias and relu at extents that no tile divides", "[sim]") {
  auto const module = load_kernel("gemm");
  std::mt19937_64 random(42);
  for (auto const& [m, n, k] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {128, 256, 64}, {130, 257, 65}, {33, 300, 200}, {5, 7, 0}}) {
    HostTensor a(Element::bf16, {m, k}, 3), b = HostTensor::transposed(Element::bf16, {k, n}), bias(Element::f32, {n}),
                                            c(Element::bf16, {m, n}, 1);
    a.fill(random), b.fill(random), bias.fill(random);
    run_checked(module, {a.view(), b.view(), bias.view(), c.view()});
    CHECK(c.gaps_untouched());
    samples::Comparison all(1);
    for (std::int64_t i = 0; i < m; i += 1 + i / 8)
      for (std::int64_t j = 0; j < n; j += 1 + j / 8) {
        double exact = bias(j);
        for (std::int64_t x = 0; x < k; ++x) exact += a(i, x) * b(x, j);
        exact = std::max(exact, 0.0);
        all.add(i * n + j, c(i, j), exact, 0x1p-8 * exact + 1e-3, c.unwritten(i * n + j));
      }
    CHECK(all.failure() == "");
  }
  HostTensor a(Element::bf16, {8, 8}), b(Element::bf16, {9, 8}), bias(Element::f32, {8}), c(Element::bf16, {8, 8});
  CHECK_THROWS_WITH(sim::run(module.kernel(), {a.view(), b.view(), bias.view(), c.view()}),
                    test::ContainsSubstring("A is M x K and B is K x N"));
}

TEST_CASE("attention over ragged sequences", "[sim]") {
  auto const module = load_kernel("attention");
  std::mt19937_64 random(43);
  constexpr std::int64_t d = 64;
  for (auto const& [batch, queries, keys] :
       {std::array<std::int64_t, 3>{1, 1, 1}, {2, 128, 64}, {1, 150, 100}, {2, 10, 65}}) {
    HostTensor q(Element::bf16, {batch, queries, d}), k(Element::bf16, {batch, keys, d}),
        v(Element::bf16, {batch, keys, d}), o(Element::bf16, {batch, queries, d});
    q.fill(random), k.fill(random), v.fill(random);
    double const scale = 1.4426950408889634 / 8;
    run_checked(module, {q.view(), k.view(), v.view(), o.view(), ir::make_constant(Element::f32, scale)});
    samples::Comparison all(1);
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t i = 0; i < queries; i += 1 + i / 4) {
        std::vector<double> score(static_cast<std::size_t>(keys));
        double max = -INFINITY, sum = 0;
        for (std::int64_t j = 0; j < keys; ++j) {
          double dot = 0;
          for (std::int64_t x = 0; x < d; ++x) dot += q(b, i, x) * k(b, j, x);
          score[static_cast<std::size_t>(j)] = dot / 8;
          max = std::max(max, dot / 8);
        }
        for (double& s : score) sum += s = std::exp(s - max);
        for (std::int64_t x = 0; x < d; x += 9) {
          double exact = 0;
          for (std::int64_t j = 0; j < keys; ++j) exact += score[static_cast<std::size_t>(j)] / sum * v(b, j, x);
          std::int64_t const at = (b * queries + i) * d + x;
          all.add(at, o.number(at), exact, 0x1p-7 * std::fabs(exact) + 4e-3, o.unwritten(at));
        }
      }
    CHECK(all.failure() == "");
  }
}

TEST_CASE("exact precision stays near float64 precision of the same kernel", "[sim]") {
  auto const module = load_kernel("softmax");
  std::mt19937_64 random(44);
  HostTensor x(Element::f32, {8, 200}), exact(Element::f32, {8, 200}), reference(Element::f32, {8, 200});
  x.fill(random, -5, 5);
  sim::run(module.kernel(), {x.view(), exact.view()});
  sim::Options options;
  options.precision = sim::Precision::float64;
  sim::run(module.kernel(), {x.view(), reference.view()}, options);
  auto const difference = sim::compare(exact.view(), reference.view(), {16, 0});
  INFO(difference.text);
  CHECK(difference.none());
  CHECK(difference.worst_ulps > 0);
}

TEST_CASE("a 256 cubed product in f32 executes few ops, which allocate little", "[sim]") {
  auto const module =
      test::module_of(R"(kernel @matmul(%A: in tensor<?x?xf32>, %B: in tensor<?x?xf32>, %C: out tensor<?x?xf32>) {
  %m = extent %A : i64
  %n = extent %B {axis = 1} : i64
  %k = extent %A {axis = 1} : i64
  %c64 = constant {value = 64 : i64} : i64
  %c32 = constant {value = 32 : i64} : i64
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %gm = ceil_div %m, %c64 : i64
  %gn = ceil_div %n, %c64 : i64
  grid %gm, %gn
  %b0 = block_index : i64
  %b1 = block_index {axis = 1} : i64
  %i = mul %b0, %c64 : i64
  %j = mul %b1, %c64 : i64
  %steps = ceil_div %k, %c32 : i64
  %zero = constant {value = 0 : f32} : tile<64x64xf32>
  %acc = for %s = %0 to %steps step %1 carry (%sum = %zero) : tile<64x64xf32> {
    %x = mul %s, %c32 : i64
    %a = load %A, %i, %x : tile<64x32xf32>
    %b = load %B, %x, %j : tile<32x64xf32>
    %d = dot %a, %b, %sum : tile<64x64xf32>
    yield %d
  }
  store %C, %acc, %i, %j
  return
})");
  std::mt19937_64 random(45);
  HostTensor a(Element::f32, {256, 256}), b(Element::f32, {256, 256}), c(Element::f32, {256, 256});
  a.fill(random), b.fill(random);
  sim::Result result;
  test::Allocations const made = test::allocations_of([&] {
    result = sim::run(module.kernel(), {a.view(), b.view(), c.view()});
  });
  REQUIRE(result.clean());
  INFO(result.steps << " ops, " << made.count << " allocations, " << made.bytes << " bytes");
  CHECK(result.steps < 1900);
  CHECK(made.count < 134'000);
  CHECK(made.bytes < 27'000'000);
  double exact = 0;
  for (int x = 0; x < 256; ++x) exact += a(255, x) * b(x, 17);
  CHECK(std::fabs(c(255, 17) - exact) < 1e-4);
}
