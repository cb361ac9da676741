// Tests graphs of graphs, on a GPU or with fake_driver.cpp in place of the driver.
#include <array>

#include "support/catch.hpp"
#include "tegula/runtime/graph.hpp"

using namespace tegula;

TEST_CASE("a graph takes in the launches of another graph") {
  if (device::cuda_count() == 0) TEGULA_SKIP("no CUDA device");
  device const where = device::cuda(0);
  stream const order(where);
  prepared const inner = graph(where, {}), middle = graph(where, std::array{inner, inner});
  prepared const outer = graph(where, std::array{middle, inner});
  CHECK_NOTHROW(outer(order));
  CHECK_NOTHROW(inner(order));
  CHECK_NOTHROW(order.synchronize());
}
