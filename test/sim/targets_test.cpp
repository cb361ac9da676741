// Tests the hand-written kernels of test/ir/target in the simulator: right at borders and at every trip count of their
// rings, and clean under many schedules.
#include <fmt/format.h>

#include "support/module.hpp"
#include "kernels/targets.hpp"

#include "sim/block/simulate.hpp"
#include "support/golden.hpp"
#include "kernels/simulated.hpp"
#include "support/sanitized.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

Target const& target_of(std::string_view name) {
  for (Target const& target : targets())
    if (target.name == name) return target;
  FAIL("no row for " << name);
  return targets().front();
}

ir::Module module_of(Target const& target) {
  return test::module_of(read_file(std::string(TEGULA_TEST_DIR) + "/ir/target/" + std::string(target.name) + ".tir"));
}

std::string shown(Extents const& shape) {
  std::string text;
  for (std::int64_t const extent : shape) text += fmt::format("{} ", extent);
  return text;
}

/// Runs on one CTA, where every trip count is the greatest. Runs on as many as the kernel asks for, and on more than
/// there is work for.
void small_shapes_are_right(std::string_view name) {
  Target const& target = target_of(name);
  auto const module = module_of(target);
  for (Extents const& shape : target.small) {
    for (std::int64_t const ctas : {1, 0, 7}) {
      if (ctas == 7 && shape.product() == 0) continue;
      auto arguments = target.arguments(shape, 3);
      block::Options options;
      if (ctas != 0) options.grid = sim::Grid{ctas, 1, 1};
      block::Simulation simulation(module.kernel(), simulated(arguments), options);
      auto const sweep = simulation.sweep(2);
      INFO(target.axes << " = " << shown(shape) << "on " << ctas << " CTAs\n" << sweep.str());
      CHECK(sweep.clean());
      CHECK(target_error(target, shape, arguments) == "");
    }
  }
}

void schedules_are_clean(std::string_view name, Extents const& shape) {
  Target const& target = target_of(name);
  auto const module = module_of(target);
  auto arguments = target.arguments(shape, 4);
  block::Options options;
  options.grid = sim::Grid{1, 1, 1};
  options.dependent = true;
  block::Simulation simulation(module.kernel(), simulated(arguments), options);
  auto const sweep = simulation.sweep(schedules(200));
  INFO(sweep.str());
  CHECK(sweep.runs >= schedules(200));
  CHECK(sweep.clean());
  CHECK(target_error(target, shape, arguments) == "");
}

}  // namespace

TEST_CASE("the hand-written softmax is right at borders and at every trip count", "[sim][block][N1]") {
  small_shapes_are_right("softmax");
}
TEST_CASE("the hand-written softmax is clean under 200 schedules", "[sim][block][N1]") {
  schedules_are_clean("softmax", {16, 252});
  schedules_are_clean("softmax", {5, 4096});
}

TEST_CASE("the hand-written layernorm is right at borders and at every trip count", "[sim][block][N1]") {
  small_shapes_are_right("layernorm");
}
TEST_CASE("the hand-written layernorm is clean under 200 schedules", "[sim][block][N1]") {
  schedules_are_clean("layernorm", {11, 248});
  schedules_are_clean("layernorm", {9, 4096});
}

TEST_CASE("the hand-written product for M = 16 is right at borders and at every trip count", "[sim][block][N1]") {
  small_shapes_are_right("gemm_m16");
}
TEST_CASE("the hand-written product for M = 16 is clean under 200 schedules", "[sim][block][N1]") {
  schedules_are_clean("gemm_m16", {16, 96, 512});
}
