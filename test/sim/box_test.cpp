// Boxes of a tensor by TMA from blocks of any number of warps, in the simulator.
#include "kernels/box_kernels.hpp"

#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "kernels/simulated.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

// The memory of an argument ends with its last element, and the simulator reports any byte beyond.
TEST_CASE("TMA moves a part of a tensor for 1, 32, 128 and 384 threads in the simulator", "[sim][block][B15][B26]") {
  for (BoxKernel const& kernel : box_kernels()) {
    auto const parsed = ir::parse(kernel.text);
    INFO(kernel.threads << " threads\n" << parsed.diagnostics.str());
    REQUIRE(parsed.ok());
    REQUIRE(ir::verify(parsed.module, &parsed.positions).str() == "");
    for (auto const& start : box_starts()) {
      TargetArguments arguments = box_arguments(start);
      block::Simulation simulation(parsed.module.kernel(), simulated(arguments));
      auto const sweep = simulation.sweep(8);
      INFO("start " << start[0] << ", " << start[1] << "\n" << sweep.str());
      CHECK(sweep.clean());
      CHECK(box_error(arguments, start, kernel.factor) == "");
    }
  }
}
