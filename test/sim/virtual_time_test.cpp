// Virtual time of lowered kernels: copies overlap products, and a ring of one stage waits for each copy.
#include "compiler/compile.hpp"
#include "sim/block/simulate.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;
using sim::machine::Schedule;

namespace {

block::Result timed_product(int stages, std::int64_t k, Schedule const& schedule) {
  ir::Module const module = compiler::lower(gemm_module({128, 128, 64, stages}), gemm_options());
  GemmData data(128, 128, k);
  block::Options options;
  options.timed = true;
  block::Result result = block::run(module.kernel(), data.arguments(), schedule, options);
  INFO(result.str());
  CHECK(result.clean());
  CHECK(data.wrong() == "");
  return result;
}

}  // namespace

TEST_CASE("in virtual time more stages hide the copies behind the products", "[sim][profile]") {
  constexpr std::int64_t steps = 12;
  // A step copies two tiles of 128 x 64 bf16, and multiplies them on four tensor cores.
  CostModel const& costs = sm_90a.costs;
  double const copy = 2 * 128 * 64 * 2 / costs.global_bytes_per_clock;
  double const product = 128 * 128 * 64 * 2 / sm_90a.product_bytes_per_clock;
  auto const per_step = [&](int stages) {
    auto const whole = static_cast<double>(timed_product(stages, steps * 64, Schedule::timed()).clocks);
    auto const half = static_cast<double>(timed_product(stages, steps / 2 * 64, Schedule::timed()).clocks);
    return (whole - half) / (steps / 2);
  };
  double const two = per_step(2), four = per_step(4);
  CAPTURE(copy, product, two, four);
  double const alone = std::max(copy, product);
  CHECK(four >= alone);
  CHECK(four < 1.2 * alone);                               // overlapped
  CHECK(two > (copy + product + costs.copy_latency) / 2);  // each stage waits for its copy and its product
  CHECK(two > 1.2 * four);
}

TEST_CASE("virtual time hardly depends on the order in which the simulator runs the warps", "[sim][profile]") {
  std::uint64_t const expected = timed_product(3, 512, Schedule::timed()).clocks;
  CHECK(timed_product(3, 512, Schedule::timed()).clocks == expected);
  for (Schedule const& schedule :
       {Schedule::latest(), Schedule::earliest(), Schedule::seed(1), Schedule::seed(2), Schedule::seed(3)})
    CHECK(static_cast<double>(timed_product(3, 512, schedule).clocks) ==
          Approx(static_cast<double>(expected)).epsilon(0.1));
}
