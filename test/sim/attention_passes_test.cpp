// What the passes make of attention as the design's first page writes it, run warp by warp against float64.
#include <cmath>

#include "compiler/compile.hpp"
#include "ir/text.hpp"
#include "ir/walk.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "support/gemm_kernel.hpp"
#include "support/golden.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

TEST_CASE("attention as tiles through the passes is clean, and right at ragged lengths", "[sim][block]") {
  auto parsed = ir::parse(read_file(std::string(TEGULA_TEST_DIR) + "/ir/dsl/attention.tir"));
  REQUIRE(parsed.ok());
  CompileOptions options = gemm_options();
  options.facts.assign(5, {true, true});
  ir::Module const module = compiler::lower(parsed.module, options);
  int roles = 0;
  ir::walk(module.kernel(), [&](ir::Op& op) { roles += op.is<ir::WarpSpecializeOp>() ? 1 : 0; });
  CHECK(roles == 1);
  std::int64_t const width = 64;
  for (std::int64_t const length : {1, 130, 300}) {
    std::mt19937_64 random(7);
    HostTensor q(Element::bf16, {2, length, width}), k(Element::bf16, {2, length, width}),
        v(Element::bf16, {2, length, width}), o(Element::bf16, {2, length, width});
    q.fill(random, -2, 2), k.fill(random, -2, 2), v.fill(random);
    double const scale = 1.4426950408889634 / 8;
    block::Options on_one;
    on_one.grid = sim::Grid{1, 1, 1};
    on_one.same_values = true;
    block::Simulation simulation(
        module.kernel(), {q.view(), k.view(), v.view(), o.view(), ir::make_constant(Element::f32, scale)}, on_one);
    auto const sweep = simulation.sweep(1);
    INFO("length " << length << "\n" << sweep.str());
    CHECK(sweep.clean());
    for (std::int64_t head = 0; head < 2; ++head)
      for (std::int64_t row = 0; row < length; row += 1 + length / 16) {
        std::vector<double> weights;
        double most = -INFINITY, sum = 0;
        for (std::int64_t j = 0; j < length; ++j) {
          double score = 0;
          for (std::int64_t d = 0; d < width; ++d) score += q(head, row, d) * k(head, j, d);
          weights.push_back(score * scale);
          most = std::max(most, weights.back());
        }
        for (double& weight : weights) sum += weight = std::exp2(weight - most);
        for (std::int64_t d = 0; d < width; ++d) {
          double exact = 0;
          for (std::int64_t j = 0; j < length; ++j) exact += weights[static_cast<std::size_t>(j)] / sum * v(head, j, d);
          CHECK(std::fabs(o(head, row, d) - exact) <= 4e-3 + std::fabs(exact) / 128);
        }
      }
  }
}
