// Tests reductions and scans by a combiner on the host and in both simulators.
#include "kernels/combine_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("reductions by a combiner join tiles in order, of any extent and along several axes") {
  for (Executor const on : executors_without_device) check_combined_reductions(on);
}

TEST_CASE("scans by a combiner run recurrences, also exclusive, in reverse and from chunk to chunk") {
  for (Executor const on : executors_without_device) check_combined_scans(on);
}
