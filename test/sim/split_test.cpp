// Tests products whose loops the CTAs of a cluster share, run warp by warp. They are clean under many schedules, equal
// to float64 and the same from run to run. If any one of the synchronising ops is missing, the simulator reports it.
#include "analysis/kernel_facts.hpp"
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

CompileOptions split_options(int split) {
  CompileOptions options = gemm_options();
  options.split = split;
  return options;
}

}  // namespace

TEST_CASE("CTAs share a product at every trip count, with warps for copies and without", "[sim][split]") {
  for (int const split : {2, 3, 4, 8, 16}) {
    for (Choice const specialization : {Choice::on, Choice::off}) {
      CompileOptions options = split_options(split);
      options.specialization = specialization;
      ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 2}), options);
      REQUIRE(module.kernel().cluster == split);
      REQUIRE(count(module, ir::OpKind::PeerStoreOp) == 1);
      REQUIRE(count(module, ir::OpKind::TmaStoreOp) == 1);
      REQUIRE(count(module, ir::OpKind::WarpSpecializeOp) == (specialization == Choice::on ? 1 : 0));
      for (int const trips : {0, 1, split - 1, split, split + 1, 2 * split + 1})
        check_on_clusters(module, 128, 16, 16 * trips, 3);
    }
  }
}

TEST_CASE("CTAs add and store their shares of the columns of a product at every trip count", "[sim][split]") {
  // One CTA would not hold the parts of the others.
  struct Shares {
    GemmShape shape;
    int split;
    Choice specialization;
  };
  for (auto const& [shape, split, specialization] : {Shares{{64, 128, 16, 2}, 4, Choice::on},
                                                     {{64, 128, 16, 2}, 4, Choice::off},
                                                     {{64, 128, 16, 2}, 8, Choice::on},
                                                     {{64, 192, 16, 2}, 3, Choice::on},
                                                     {{128, 192, 16, 2}, 2, Choice::on}}) {
    CompileOptions options = split_options(split);
    options.specialization = specialization;
    ir::Module const module = compiler::lower(gemm_module(shape), options);
    REQUIRE(module.kernel().cluster == split);
    REQUIRE(count(module, ir::OpKind::PeerStoreOp) == split);
    for (int const trips : {0, 3, 2 * split + 1}) check_on_clusters(module, shape.m + 8, shape.n + 8, 16 * trips, 2);
  }
}

TEST_CASE("CTAs share products of few rows, of registers, and of CTAs that are not persistent", "[sim][split]") {
  for (GemmShape const& shape : {GemmShape{16, 64, 128, 8}, GemmShape{32, 32, 16, 2}, GemmShape{48, 40, 32, 2}}) {
    ir::Module const module = compiler::lower(gemm_module(shape), split_options(2));
    REQUIRE(module.kernel().cluster == 2);
    for (int const k : {0, shape.k, 5 * shape.k + 8}) check_on_clusters(module, 19, 72, k, 1);
  }
  CompileOptions options = split_options(4);
  options.persistence = Choice::off;
  ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 2}), options);
  REQUIRE(module.kernel().cluster == 4);
  CHECK(count(module, ir::OpKind::MultiprocessorsOp) == 0);
  for (std::int64_t const k : {0, 40, 160}) check_on_clusters(module, 72, 40, k, 2);
}

TEST_CASE("parts move by 16 bytes without bank conflicts", "[sim][split][N14]") {
  for (GemmShape const& shape : {GemmShape{64, 16, 16, 2}, GemmShape{16, 64, 32, 2}, GemmShape{64, 96, 16, 2}}) {
    ir::Module const module = compiler::lower(gemm_module(shape), split_options(2));
    int found = 0;
    for (MemoryAccessFacts const& access : analysis::kernel_facts(module.kernel()).accesses) {
      if (access.memory != "parts") continue;
      ++found;
      CHECK(access.bytes == 16);
      CHECK(access.cost == access.min);
    }
    CHECK(found == 2);
  }
}

TEST_CASE("more tiles than clusters are each computed once", "[sim][split]") {
  ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 2}), split_options(2));
  check_on_grids(module, 64 * 5, 16 * 3, 48, {{2, 1, 1}, {6, 1, 1}, {3, 2, 1}, {40, 1, 1}});
}

TEST_CASE("sums of parts that round are the same under every schedule", "[sim][split]") {
  ir::Module const module = compiler::lower(gemm_module({64, 16, 16, 2}), split_options(4));
  GemmData data(64, 16, 16 * 9);
  std::mt19937_64 random(7);
  for (std::int64_t i = 0; i < data.a.count(); ++i)
    data.a.set_number(i, static_cast<double>(random() % 1000003) / 1000003.0);
  block::Simulation simulation(module.kernel(), data.arguments(), {});  // compares what schedules leave
  auto const sweep = simulation.sweep(20);
  INFO(sweep.str());
  CHECK(sweep.clean());
}

TEST_CASE("a shared product without any one of its synchronising ops is reported", "[sim][split][N1]") {
  // Takes of the copies among warps those between the CTAs of a cluster.
  auto const hands_over = [](ir::Op const& op) {
    auto const* const wait = op.is<ir::MbarrierWaitOp>() ? &op.as<ir::MbarrierWaitOp>() : nullptr;
    return (wait != nullptr && wait->scope == ir::MemoryScope::cluster) || op.is<ir::WarpBarrierOp>() ||
           op.is<ir::ClusterArriveOp>() || op.is<ir::ClusterWaitOp>() ||
           (op.is<ir::MbarrierArriveOp>() && op.operand_count() == 2) ||
           (op.is<ir::MbarrierExpectOp>() && op.operand(0)->name() == "full_parts");
  };
  for (auto const& [specialization, columns] :
       {std::pair(Choice::on, 16), {Choice::off, 16}, {Choice::on, 128}, {Choice::off, 128}}) {
    int const split = columns == 16 ? 2 : 4;  // one CTA adds, or each its share
    CompileOptions options = split_options(split);
    options.specialization = specialization;
    ir::Module const module = compiler::lower(gemm_module({64, columns, 16, 2}), options);
    GemmData data(128, columns, 16 * 8), no_steps(128, columns, 0);
    block::Options run;
    run.grid = sim::Grid{split, 1, 1};
    run.dependent = true;  // whether the kernel still waits for the grid before or not
    bool const every = specialization == Choice::on && split == 2;
    auto const all = every ? mutations(module) : mutations(module, hands_over);
    CHECK(all.size() >= 8);
    check_each_is_missed(module, all, {&data, &no_steps}, run);
  }
}
