// Tests results that are stored and reduced along both axes, on the host and in both simulators.
#include "kernels/reduced_results.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("results are stored and reduced along both axes") {
  for (Executor const on : executors_without_device) check_reduced_results(on);
}

TEST_CASE("sums of columns take few registers beside a result") {
  for (KernelFacts const& seen :
       {facts(reduced_result<bf16, 128, 256, false>), facts(reduced_result<f16, 256, 128, false>),
        facts(reduced_result<e4m3, 128, 128, true>)}) {
    INFO(seen.str());
    CHECK(seen.spill_bytes <= 128);  // -1 where there is no ptxas
    for (AccessPath const& load : seen.loads)
      if (load.memory == "in2") CHECK(load.tile.starts_with("128x256") == false);
  }
}
