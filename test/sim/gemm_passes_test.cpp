// Tests a product of tiles after the passes, run warp by warp: clean under many schedules and equal to float64.
#include "analysis/kernel_facts.hpp"
#include "compiler/compile.hpp"
#include "gemm_on_grids.hpp"
#include "sim/block/simulate.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/module.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

constexpr char up_to_rings[] =
    "specialize,canonicalize,eliminate-common-subexpressions,hoist-loop-invariants,eliminate-dead-code,"
    "choose-memory-paths,plan-kernel,schedule-dots,eliminate-dead-code,assign-layouts,circular-buffer,allocate-shared-"
    "memory";

/// Runs under schedules, on as many CTAs as the grid has and on one that takes all tiles, and compares with float64.
void check_run(ir::Module const& module, std::int64_t m, std::int64_t n, std::int64_t k, bool trans_b = false,
               std::uint64_t seeds = 2) {
  bool const is_kept = count(module, ir::OpKind::MultiprocessorsOp) != 0;
  for (bool const one : {false, true}) {
    if (one && !is_kept) continue;
    GemmData data(m, n, k, trans_b);
    block::Options options;
    if (one) options.grid = sim::Grid{1, 1, 1};
    block::Simulation simulation(module.kernel(), data.arguments(), options);
    auto const sweep = simulation.sweep(seeds);
    INFO("m, n, k = " << m << ", " << n << ", " << k << (one ? " on one CTA\n" : "\n") << sweep.str());
    CHECK(sweep.clean());
    CHECK(data.wrong() == "");
  }
}

}  // namespace

TEST_CASE("a product of tiles through the passes is right at every trip count of rings of 2 to 8 stages",
          "[sim][B1][B2][B12]") {
  for (int const stages : {2, 3, 4, 8}) {
    ir::Module const module = compiler::lower(gemm_module({64, 16, 16, stages}), gemm_options());
    REQUIRE(count(module, ir::OpKind::WarpSpecializeOp) == 1);
    REQUIRE(count(module, ir::OpKind::TmaLoadOp) == 2);
    REQUIRE(count(module, ir::OpKind::TmaStoreOp) == 1);
    for (int const trips : {0, 1, stages - 1, stages, stages + 1, 2 * stages + 1, 3 * stages})
      check_run(module, 128, 16, 16 * trips);
  }
}

TEST_CASE("a product of tiles through the passes is right at extents that no tile divides", "[sim][B15]") {
  for (bool const trans_b : {false, true}) {
    ir::Module const module = compiler::lower(gemm_module({128, 64, 32, 2, trans_b}), gemm_options());
    CHECK(module.kernel().warps == 12);
    CHECK(count(module, ir::OpKind::TransViewOp) == (trans_b ? 1 : 0));
    check_run(module, 1, 8, 8, trans_b);
    check_run(module, 136, 72, 72, trans_b);
    check_run(module, 127, 24, 104, trans_b);
  }
}

TEST_CASE("a product of tiles goes to one to four warpgroups", "[sim]") {
  struct Case {
    GemmShape shape;
    int warps;
  };
  for (Case const& one :
       {Case{{64, 48, 16, 2}, 8}, Case{{192, 16, 16, 2}, 16}, Case{{256, 32, 16, 2}, 20}, Case{{320, 16, 16, 2}, 8}}) {
    ir::Module const module = compiler::lower(gemm_module(one.shape), gemm_options());
    CHECK(module.kernel().warps == one.warps);
    check_run(module, 200, 56, 40, false, 1);
  }
}

TEST_CASE("products that wgmma does not support use mma from registers", "[sim]") {
  for (bool const copied : {true, false}) {  // by TMA, and by pointers through scratch memory
    for (GemmShape const& shape : {GemmShape{32, 32, 16, 2}, GemmShape{16, 8, 16}, GemmShape{48, 40, 32, 2, true}}) {
      CompileOptions options = gemm_options();
      if (!copied) options.facts.clear();
      ir::Module const module = compiler::lower(gemm_module(shape), options);
      CHECK(count(module, ir::OpKind::MmaOp) == 1);
      CHECK(count(module, ir::OpKind::TmaLoadOp) == (copied ? 2 : 0));
      for (std::int64_t const k : {0, 16, 40, 88}) check_run(module, 72, 48, k, shape.trans_b, 1);
    }
  }
}

TEST_CASE("copies stay with warps that exchange at the barrier of the CTA", "[sim]") {
  CompileOptions options = gemm_options();
  options.facts[1] = {};  // B goes by pointers, and to its place in the product through scratch memory
  options.plan = "warps=4,mma=4x1";
  ir::Module const module = compiler::lower(gemm_module({64, 64, 32, 2}), options);
  CHECK(count(module, ir::OpKind::TmaLoadOp) == 3);  // of A: two in the prologue and one in the main loop
  CHECK(count(module, ir::OpKind::WarpSpecializeOp) == 0);
  for (std::int64_t const k : {0, 40, 128}) check_run(module, 72, 72, k, false, 1);
}

TEST_CASE("more tiles than CTAs are each computed once, for every grid", "[sim]") {
  ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 2}), gemm_options());
  check_on_grids(module, 64 * 9, 16 * 3, 32, {{1, 1, 1}, {3, 1, 1}, {2, 3, 1}, {40, 1, 1}});
}

TEST_CASE("rings are also right before warps are specialised", "[sim][B7]") {
  for (int const stages : {2, 4}) {
    ir::Module module = gemm_module({64, 16, 16, stages});
    transform::run_pipeline(module, std::string(up_to_rings) + ",insert-barriers", gemm_options());
    REQUIRE(count(module, ir::OpKind::WarpSpecializeOp) == 0);
    for (int const trips : {0, 1, stages, 3 * stages + 1}) check_run(module, 64, 16, 16 * trips);
  }
}

TEST_CASE("prologue, main loop and epilogue in the same warps are right at every trip count", "[sim][B1][B2][B12]") {
  for (int const stages : {2, 3, 4}) {
    ir::Module module = gemm_module({64, 16, 16, stages});
    transform::run_pipeline(module, up_to_rings, gemm_options());
    int const before = count(module, ir::OpKind::TmaLoadOp);
    int const loops = count(module, ir::OpKind::ForOp);
    transform::run_pipeline(module, "run-ahead,canonicalize,insert-barriers,insert-proxy-fences", gemm_options());
    CHECK(count(module, ir::OpKind::TmaLoadOp) == before * stages);  // stages - 1 in the prologue, one in the main loop
    CHECK(count(module, ir::OpKind::ForOp) == loops + 1);
    for (int const trips : {0, 1, stages - 1, stages, stages + 1, 2 * stages + 1, 3 * stages})
      check_run(module, 64, 16, 16 * trips);
  }
}

TEST_CASE("copies run ahead by any distance below the depth, with and without an epilogue", "[sim][B13][B20]") {
  std::int64_t const stages = 4;
  for (int distance = 1; distance < stages; ++distance) {
    for (Choice const epilogue : {Choice::on, Choice::off}) {
      CompileOptions options = gemm_options();
      options.stages = stages;
      options.distance = distance;
      options.epilogue = epilogue;
      options.specialization = Choice::off;
      ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 2}), options);
      INFO("distance " << distance << (epilogue == Choice::on ? "" : ", predicated"));
      CHECK(count(module, ir::OpKind::WarpSpecializeOp) == 0);
      CHECK(count(module, ir::OpKind::TmaLoadOp) == 2 * (distance + 1));
      CHECK(count(module, ir::OpKind::ForOp) == (epilogue == Choice::on ? 3 : 2));  // of tiles, main, epilogue
      for (std::int64_t const trips :
           {std::int64_t{0}, std::int64_t{1}, stages - 1, stages, stages + 1, 2 * stages + 1})
        check_run(module, 128, 16, 16 * trips, false, 1);
    }
  }
}

TEST_CASE("a ring of exactly one stage ends its products in each iteration", "[sim][B20]") {
  for (Choice const specialization : {Choice::off, Choice::on}) {
    CompileOptions options = gemm_options();
    options.stages = 1;
    options.exactly = true;
    options.specialization = specialization;
    ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 4}), options);
    for (int const trips : {0, 1, 2, 5}) check_run(module, 128, 16, 16 * trips);
  }
}

TEST_CASE("persistence and warp specialisation are options", "[sim][B20]") {
  for (Choice const choice : {Choice::off, Choice::on}) {
    CompileOptions options = gemm_options();
    options.persistence = options.specialization = choice;
    ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 2}), options);
    CHECK(count(module, ir::OpKind::MultiprocessorsOp) == (choice == Choice::on ? 1 : 0));
    CHECK(count(module, ir::OpKind::WarpSpecializeOp) == (choice == Choice::on ? 1 : 0));
    for (std::int64_t const k : {0, 40}) check_run(module, 72, 40, k, false, 1);
  }
}

TEST_CASE("a product of tiles through the passes is clean under 200 schedules", "[sim][N1]") {
  ir::Module const module = compiler::lower(gemm_module({128, 16, 16, 3}), gemm_options());
  check_run(module, 200, 16, 16 * 4, false, 200);
}

TEST_CASE("products of few rows become transposed products of the tensor cores' asynchronous kind", "[sim][block]") {
  for (GemmShape const shape : {GemmShape{16, 64, 32, 3}, GemmShape{8, 128, 16, 2}, GemmShape{32, 64, 64, 0, true}}) {
    ir::Module const module = compiler::lower(gemm_module(shape), gemm_options());
    CHECK(count(module, ir::OpKind::WgmmaOp) >= 1);
    CHECK(count(module, ir::OpKind::MmaOp) == 0);
    for (std::int64_t const k : {0, 32, 200}) check_run(module, 19, 136, k, shape.trans_b, 1);
  }
}

TEST_CASE("results whose rows are an odd number of 16 bytes are staged, without bank conflicts", "[sim][N17]") {
  for (GemmShape const& shape : {GemmShape{64, 8, 16, 2}, GemmShape{64, 24, 16, 2}, GemmShape{128, 40, 16, 2},
                                 GemmShape{64, 72, 16, 2}, GemmShape{128, 88, 16, 2}}) {
    ir::Module const module = compiler::lower(gemm_module(shape), gemm_options());
    INFO(shape.m << " x " << shape.n);
    CHECK(count(module, ir::OpKind::TmaStoreOp) == 1);
    CHECK(count(module, ir::OpKind::StoreOp) == 0);
    for (MemoryAccessFacts const& access : analysis::kernel_facts(module.kernel()).accesses) {
      INFO(access.memory);
      if (access.memory == "staging") CHECK(access.cost == access.min);
    }
    for (std::int64_t const k : {0, 40}) check_run(module, shape.m + 8, shape.n + 8, k, false, 1);
  }
}
