// Tests products whose fetches the CTAs of a cluster share, run warp by warp. They are clean under many schedules and
// equal to float64. If any one of the synchronising ops is missing, the simulator reports it.
#include "compiler/compile.hpp"
#include "gemm_on_grids.hpp"
#include "sim/block/simulate.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/module.hpp"
#include "support/mutate.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

CompileOptions share_options(int share) {
  CompileOptions options = gemm_options();
  options.share = share;
  return options;
}

}  // namespace

TEST_CASE("CTAs share fetches at every trip count, with warps for copies and without", "[sim][share]") {
  for (int const share : {2, 4}) {
    for (Choice const specialization : {Choice::on, Choice::off}) {
      CompileOptions options = share_options(share);
      options.specialization = specialization;
      ir::Module const module = compiler::lower(gemm_module({64, 16, 16 * share, 2}), options);
      REQUIRE(module.kernel().cluster == share);
      REQUIRE(multicasts(module) >= 1);
      REQUIRE(count(module, ir::OpKind::WarpSpecializeOp) == (specialization == Choice::on ? 1 : 0));
      for (int const trips : {0, 1, 2, 3, 7}) check_on_clusters(module, 64 * share, 16, 16 * share * trips, 3);
    }
  }
}

TEST_CASE("CTAs of a cluster whose tile lies behind the last row fetch for the others", "[sim][share]") {
  for (GemmShape const& shape : {GemmShape{64, 16, 32, 2}, GemmShape{64, 64, 16, 3}, GemmShape{64, 32, 16, 2, true}}) {
    ir::Module const module = compiler::lower(gemm_module(shape), share_options(2));
    REQUIRE(module.kernel().cluster == 2);
    REQUIRE(multicasts(module) >= 1);
    for (std::int64_t const m : {1, 64, 65, 3 * 64, 5 * 64 - 3}) {
      INFO("tiles of " << shape.m << " x " << shape.n << " x " << shape.k);
      GemmData data(m, 2 * shape.n - 8, 3 * shape.k + 8, shape.trans_b);
      auto const sweep = block::Simulation(module.kernel(), data.arguments(), {}).sweep(2);
      INFO("m = " << m << "\n" << sweep.str());
      CHECK(sweep.clean());
      CHECK(data.wrong() == "");
    }
  }
}

TEST_CASE("more tiles than clusters that share fetches are each computed once", "[sim][share]") {
  ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 2}), share_options(2));
  check_on_grids(module, 64 * 5, 16 * 3, 48, {{2, 1, 1}, {6, 1, 1}, {40, 1, 1}});
}

TEST_CASE("kernels whose CTAs cannot share fetches keep their own", "[sim][share]") {
  CompileOptions options = share_options(2);
  options.persistence = Choice::off;
  CHECK(compiler::lower(gemm_module({64, 16, 16, 2}), options).kernel().cluster == 1);
  options = share_options(2);
  options.split = 2;
  ir::Module const split = compiler::lower(gemm_module({64, 16, 16, 2}), options);
  CHECK(multicasts(split) == 0);
  CHECK(count(split, ir::OpKind::PeerStoreOp) == 1);
}

TEST_CASE("a product of shared fetches without any one of its synchronising ops is reported", "[sim][share][N1]") {
  ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 2}), share_options(2));
  GemmData data(128, 16, 16 * 8), no_steps(128, 16, 0), two(256, 16, 16 * 3);
  block::Options run;
  run.grid = sim::Grid{2, 1, 1};
  run.dependent = true;  // whether the kernel still waits for the grid before or not
  auto const all = mutations(module);
  CHECK(all.size() >= 8);
  check_each_is_missed(module, all, {&data, &no_steps, &two}, run);
}
