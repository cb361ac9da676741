// Tests softmax of rows of every length on the host and in both simulators.
#include "kernels/row_shares.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("shares of rows are right for numbers far apart, infinities and NaN") {
  for (Executor const on : executors_without_device) check_row_shares(on);
}
