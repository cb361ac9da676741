// Tests inserted barriers and fences. Hand-written kernels get no more than they had. The simulator judges random
// kernels: they are clean with them, and reported without any one of them.
#include <algorithm>
#include <cstdio>

#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/host_tensor.hpp"
#include "support/module.hpp"
#include "support/mutate.hpp"
#include "kernels/random_shared.hpp"
#include "kernels/simulated.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

/// Barriers and fences that order something.
int count(ir::Function const& function) {
  auto const ops = test::detail::all_ops(function.body());
  return static_cast<int>(std::count_if(
      ops.begin(), ops.end(), [](ir::Op const* op) { return is_inserted(*op) && !test::detail::schedules_only(*op); }));
}

constexpr char passes[] = "insert-barriers,insert-proxy-fences";

ir::Module target_module(test::Target const& target) {
  return module_of(read_file(std::string(TEGULA_TEST_DIR) + "/ir/target/" + std::string(target.name) + ".tir"));
}

std::string run(ir::Module const& module, RandomShared const& program, std::uint64_t seeds) {
  HostTensor in(Element::i32, {program.loads, RandomShared::row_width}),
      out(Element::i32, {program.rows, RandomShared::row_width});
  for (std::int64_t i = 0; i < in.count(); ++i) in.set_integer(i, -i);
  for (std::int64_t i = 0; i < out.count(); ++i) out.set_integer(i, 7);
  block::Options options;
  options.max_reports = 1;
  for (std::int64_t const choice : {0, 1}) {
    block::Simulation simulation(module.kernel(), {in.view(), out.view(), ir::make_constant(Element::i64, choice)},
                                 options);
    auto const sweep = simulation.sweep(seeds);
    if (!sweep.clean()) return sweep.str();
  }
  return {};
}

}  // namespace

TEST_CASE("the hand-written kernels need no further barrier or fence", "[sim][block]") {
  for (test::Target const& target : targets()) {
    auto module = target_module(target);
    transform::run_pipeline(module, "allocate-shared-memory", {});
    std::string const text = ir::print(module);
    transform::run_pipeline(module, passes, {});
    CHECK(ir::print(module) == text);
  }
}

TEST_CASE("the hand-written kernels without their barriers and fences get the same number back", "[sim][block]") {
  for (test::Target const& target : targets()) {
    auto module = target_module(target);
    transform::run_pipeline(module, "allocate-shared-memory", {});
    int const had = strip(module.kernel());
    transform::run_pipeline(module, passes, {});
    int const has = count(module.kernel());
    std::printf("%s: %d barriers and fences by hand, %d inserted\n", std::string(target.name).c_str(), had, has);
    CHECK(has <= had);
    std::string const text = ir::print(module);
    transform::run_pipeline(module, passes, {});
    CHECK(ir::print(module) == text);
  }
}

namespace {

struct Count {
  int programs = 0, inserted = 0, superfluous = 0;
};

/// Tests random kernels from first to last: clean with the inserted ops, the same twice, and reported without any one
/// of them.
Count random_kernels(std::uint64_t first, std::uint64_t last, bool copies) {
  Count count;
  for (std::uint64_t seed = first; seed <= last; ++seed) {
    RandomSharedOptions options;
    options.barriers = false;
    options.copies = copies;
    options.warps = 1 << seed % 3;
    options.statements = 10;
    auto const program = SharedGenerator(seed, options).make();
    auto module = module_of(program.text);
    transform::run_pipeline(module, "allocate-shared-memory", {});
    transform::run_pipeline(module, passes, {});
    INFO("seed " << seed << "\n" << ir::print(module));
    REQUIRE(ir::verify(module).str() == "");
    REQUIRE(run(module, program, 4) == "");
    std::string const text = ir::print(module);
    transform::run_pipeline(module, passes, {});
    CHECK(ir::print(module) == text);
    ++count.programs;
    for (Mutation const& mutation : mutations(module, is_inserted)) {
      ++count.inserted;
      if (run(mutation.module, program, 2).empty()) ++count.superfluous;
    }
  }
  std::printf("%d random kernels%s: %d barriers and fences inserted, %d of them superfluous\n", count.programs,
              copies ? " with copies" : "", count.inserted, count.superfluous);
  return count;
}

}  // namespace

// A superfluous op depends on the stage of a loop's first iteration, or on the branches of consecutive iterations.
TEST_CASE("random kernels are clean with the barriers inserted, and need each of them", "[sim][block]") {
  Count const count = random_kernels(1, 80, false);
  CHECK(count.inserted > 400);
  CHECK(count.superfluous * 40 <= count.inserted);
}
TEST_CASE("random kernels with copies are clean with barriers and fences inserted, and need each", "[sim][block]") {
  Count const count = random_kernels(101, 180, true);
  CHECK(count.inserted > 400);
  CHECK(count.superfluous * 40 <= count.inserted);
}

TEST_CASE("a caller gets a barrier only where a called function leaves bytes unordered", "[sim][block][F16]") {
  auto const sweep = [](ir::Module const& module, char const* kernel) {
    HostTensor t(Element::i32, {128}), u(Element::i32, {128});
    block::Simulation simulation(*module.find(kernel), {t.view(), u.view()});
    return simulation.sweep(8);
  };
  auto module = module_of(read_file(std::string(TEGULA_TEST_DIR) + "/ir/insert-barriers/calls.tir"));
  transform::run_pipeline(module, "allocate-shared-memory,insert-barriers", {});
  for (char const* kernel : {"twice", "around"}) {
    INFO(kernel << "\n" << sweep(module, kernel).str());
    CHECK(sweep(module, kernel).clean());
    int taken = 0;
    for (ir::Op* op : test::detail::all_ops(module.find(kernel)->body())) {
      if (!is_barrier(*op)) continue;
      op->erase();
      ++taken;
    }
    CHECK(taken == 1);
    CHECK(sweep(module, kernel).bad_runs != 0);
  }
}
