// Tests the hand-written GEMM of test/ir/target, run by warps.

#include <fmt/format.h>

#include "block_support.hpp"
#include "support/count_allocations.hpp"
#include "support/sanitized.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

struct Gemm {
  HostTensor a, b, c;
  Gemm(std::int64_t m, std::int64_t n, std::int64_t k)
      : a(Element::bf16, {m, k}), b(Element::bf16, {k, n}), c(Element::bf16, {m, n}) {
    fill_small(a, 1);
    fill_small(b, 2);
  }
  sim::Arguments arguments() { return {a.view(), b.view(), c.view()}; }
  /// Names the first element that is not the float64 product, rounded; empty: none.
  std::string wrong() {
    std::int64_t const m = c.extents()[0], n = c.extents()[1], k = a.extents()[1];
    std::vector<double> left, right;
    for (std::int64_t i = 0; i < a.count(); ++i) left.push_back(a.number(i));
    for (std::int64_t i = 0; i < b.count(); ++i) right.push_back(b.number(i));
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t x = 0; x < k; ++x)
          sum += left[static_cast<std::size_t>(i * k + x)] * right[static_cast<std::size_t>(x * n + j)];
        double const expected = ir::to_double(ir::make_constant(Element::bf16, sum));
        if (c.number(i * n + j) != expected)
          return fmt::format("{}, {}: {} but should be {}", i, j, c.number(i * n + j), expected);
      }
    return {};
  }
};

}  // namespace

TEST_CASE("the hand-written gemm is clean and exact in the simulator, and costs few steps", "[sim][block][N1]") {
  auto const module = target("gemm");
  Gemm gemm(256, 256, 256);
  auto const arguments = gemm.arguments();
  block::Simulation simulation(module.kernel(), arguments);
  block::Result result;
  Allocations const made = allocations_of([&] { result = simulation.run(BlockSchedule::seed(1)); });
  INFO(result.str());
  CHECK(result.clean());
  CHECK(gemm.wrong() == "");
  INFO(result.steps << " steps, " << result.values.steps << " ops, " << made.count << " allocations");
  CHECK(result.steps < 1500);
  CHECK(result.values.steps < 7000);
  CHECK(made.count < 22'000);
}

TEST_CASE("the hand-written gemm is clean under 200 schedules of every kind", "[sim][block][N1]") {
  auto const module = target("gemm");
  // Two tiles for one CTA, a border inside one; K of fewer and more blocks than the ring has stages.
  for (std::int64_t const k : {64, 192, 256, 328}) {
    Gemm gemm(128 + 64, 256, k);
    auto const arguments = gemm.arguments();
    block::Options options;
    options.grid = sim::Grid{1, 1, 1};
    block::Simulation simulation(module.kernel(), arguments, options);
    auto const sweep = simulation.sweep(schedules(k == 64 ? 200 : 4));
    INFO("k = " << k << "\n" << sweep.str());
    CHECK(sweep.clean());
    CHECK(gemm.wrong() == "");
  }
}
