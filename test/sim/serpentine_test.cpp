// Tests products whose CTAs run every second tile from the end of K, run warp by warp. They are clean under many
// schedules and equal to float64. If any one of the synchronising ops is missing, the simulator reports it.
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

CompileOptions serpentine_options() {
  CompileOptions options = gemm_options();
  options.serpentine = Choice::on;
  return options;
}

ir::Module lowered(GemmShape const& shape, CompileOptions const& options) {
  return compiler::lower(gemm_module(shape), options);
}

}  // namespace

TEST_CASE("CTAs run every second tile backwards, at every trip count", "[sim][serpentine]") {
  for (Choice const specialization : {Choice::on, Choice::off}) {
    CompileOptions options = serpentine_options();
    options.specialization = specialization;
    ir::Module const module = lowered({64, 16, 16, 2}, options);
    options.serpentine = Choice::automatic;
    REQUIRE(ir::print(module) != ir::print(lowered({64, 16, 16, 2}, options)));
    for (int const trips : {0, 1, 2, 3, 7})
      check_on_grids(module, 64 * 3 - 5, 16 * 3, 16 * trips, {{1, 1, 1}, {2, 1, 1}, {9, 1, 1}});
  }
}

TEST_CASE("clusters that share fetches run backwards together, and those that split a product", "[sim][serpentine]") {
  CompileOptions options = serpentine_options();
  options.share = 2;
  ir::Module const shared = lowered({64, 16, 32, 2}, options);
  CHECK(multicasts(shared) >= 1);
  for (int const trips : {0, 1, 5}) check_on_clusters(shared, 64 * 5, 16 * 2, 32 * trips);
  options = serpentine_options();
  options.split = 2;
  ir::Module const split = lowered({64, 16, 16, 2}, options);
  for (int const trips : {0, 1, 5}) check_on_clusters(split, 64 * 2, 16 * 2, 16 * trips);
}

TEST_CASE("exact products and CTAs of one tile run forwards", "[sim][serpentine]") {
  CompileOptions exact = serpentine_options();
  exact.exact = true;
  CompileOptions plain = exact;
  plain.serpentine = Choice::off;
  CHECK(ir::print(lowered({64, 16, 16, 2}, exact)) == ir::print(lowered({64, 16, 16, 2}, plain)));
  CompileOptions one = serpentine_options();
  one.persistence = Choice::off;
  plain = one;
  plain.serpentine = Choice::off;
  CHECK(ir::print(lowered({64, 16, 16, 2}, one)) == ir::print(lowered({64, 16, 16, 2}, plain)));
}

TEST_CASE("a product run backwards without any one of its synchronising ops is reported", "[sim][serpentine][N1]") {
  ir::Module const module = lowered({64, 16, 16, 2}, serpentine_options());
  GemmData data(64 * 3, 16, 16 * 5), no_steps(128, 16, 0);
  block::Options run;
  run.grid = sim::Grid{1, 1, 1};
  run.dependent = true;  // whether the kernel still waits for the grid before or not
  check_each_is_missed(module, mutations(module), {&data, &no_steps}, run);
}
