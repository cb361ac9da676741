// Compares attention, as the design's first page writes it, after the passes with float64; it runs warp by warp.
#include <cmath>

#include "compiler/compile.hpp"
#include "ir/core/walk.hpp"
#include "sim/block/simulate.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/golden.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

/// Runs attention of two heads by a lowered kernel on one CTA, in some legal orders of its copies, against float64.
void check_attention(ir::Module const& module, std::int64_t length, bool causal, double sharpness = 1) {
  std::int64_t const width = 64;
  std::mt19937_64 random(7);
  HostTensor q(Element::bf16, {2, length, width}), k(Element::bf16, {2, length, width}),
      v(Element::bf16, {2, length, width}), o(Element::bf16, {2, length, width});
  q.fill(random, -2, 2), k.fill(random, -2, 2), v.fill(random);
  double const scale = sharpness * 1.4426950408889634 / 8;
  block::Options on_one;
  on_one.grid = sim::Grid{1, 1, 1};
  on_one.same_values = true;
  block::Simulation simulation(
      module.kernel(), {q.view(), k.view(), v.view(), o.view(), ir::make_constant(Element::f32, scale)}, on_one);
  auto const sweep = simulation.sweep(1);
  INFO("length " << length << ", scale " << scale << "\n" << sweep.str());
  CHECK(sweep.clean());
  samples::Comparison all(1);
  for (std::int64_t head = 0; head < 2; ++head)
    for (std::int64_t row = 0; row < length; row += 1 + length / 16) {
      std::vector<double> weights;
      double max = -INFINITY, sum = 0;
      for (std::int64_t j = 0; j < (causal ? row + 1 : length); ++j) {
        double score = 0;
        for (std::int64_t d = 0; d < width; ++d) score += q(head, row, d) * k(head, j, d);
        weights.push_back(score * scale);
        max = std::max(max, weights.back());
      }
      for (double& weight : weights) sum += weight = std::exp2(weight - max);
      for (std::int64_t d = 0; d < width; ++d) {
        double exact = 0;
        for (std::size_t j = 0; j < weights.size(); ++j)
          exact += weights[j] / sum * v(head, static_cast<std::int64_t>(j), d);
        std::int64_t const at = (head * length + row) * width + d;
        all.add(at, o.number(at), exact, 4e-3 + std::fabs(exact) / 128, o.unwritten(at));
      }
    }
  CHECK(all.failure() == "");
}

ir::Module lowered(std::string const& file, bool exact) {
  ir::Module const module = module_of(read_file(std::string(TEGULA_TEST_DIR) + "/ir/" + file));
  CompileOptions options = gemm_options();
  options.facts.assign(5, {true, true});
  options.exact = exact;
  return compiler::lower(module, options);
}

}  // namespace

TEST_CASE("attention as tiles through the passes is clean, and right at ragged lengths", "[sim][block]") {
  bool const exact = GENERATE(false, true);
  ir::Module const module = lowered("dsl/attention.tir", exact);
  CHECK(count(module, ir::OpKind::WarpSpecializeOp) == 1);
  // Protects the overlap of products and the sums per lane; results are right without them. Products of keys are
  // before, in and after the loop, those of values too. A block has a maximum, a minimum for negative scales and a sum.
  CHECK(count(module, ir::OpKind::WgmmaOp) == 6);
  CHECK(count(module, ir::OpKind::FoldOp) == (exact ? 2 : 9));
  for (std::int64_t const length : {1, 130, 300}) check_attention(module, length, false);
}

TEST_CASE("causal attention as tiles skips masked tiles, and CTAs take pairs of tiles", "[sim][block]") {
  ir::Module const module = lowered("tiles/attention_causal.tir", false);
  CHECK(count(module, ir::OpKind::TmaStoreOp) >= 1);  // turns of pairs are blocks, which never store to one place
  for (std::int64_t const length : {1, 64, 130, 300}) check_attention(module, length, true);
}

TEST_CASE("scales of attention may be negative, and 0", "[sim][block]") {
  // A negative one makes the min product of a row its reference; 0 gives all unmasked elements the same weight.
  for (auto const* file : {"dsl/attention.tir", "tiles/attention_causal.tir"}) {
    ir::Module const module = lowered(file, false);
    bool const causal = std::string_view(file).find("causal") != std::string_view::npos;
    for (double const sharpness : {-1.0, -16.0, 0.0, 16.0}) check_attention(module, 300, causal, sharpness);
  }
}

TEST_CASE("turns of warpgroups change only the schedule", "[sim]") {
  ir::Module module = lowered("dsl/attention.tir", false);
  auto const turns = [&] {
    std::vector<ir::Op*> found;
    ir::walk(module.kernel(), [&](ir::Op& op) {
      bool const barrier = op.is<ir::BarrierOp>() && op.as<ir::BarrierOp>().purpose == ir::Purpose::schedule;
      if (barrier || op.is<ir::BarrierArriveOp>()) found.push_back(&op);
    });
    return found;
  };
  REQUIRE(turns().size() == 5);  // the first turn; in the loop without masks and in the one with
  for (ir::Op* op : turns()) op->erase();
  for (std::int64_t const length : {1, 130, 300}) check_attention(module, length, false);
}
