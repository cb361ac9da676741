// Tests attention with narrow and wide heads, on the host and in both simulators.
#include "kernels/attention_kernels.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("attention is right for heads of 16, 32, 64, 128 and 256", "[F42]") {
  check_all_heads(Executor::host, 2, 140, 300);
  check_all_heads(Executor::tiles, 1, 70, 150);
  check_all_heads(Executor::warps, 1, 130, 150);
}
