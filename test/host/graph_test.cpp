// Tests that a graph runs its launches in order, each time on what memory holds then.
#include <array>
#include <utility>
#include <vector>

#include "support/catch.hpp"
#include "tegula/runtime/graph.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::ContainsSubstring;

namespace {

constexpr auto scale_add = kernel("scale_add", [](inout<int, 1> x, arg<int> factor, arg<int> more) {
  auto g = grid_over(x, shape<64>);
  store(x, shape<64>, load(x, shape<64>, g[0]) * factor + more, g[0]);
});

}  // namespace

TEST_CASE("a graph runs prepared launches in their order, and again on the results") {
  std::vector<int> x = {0, 1, 2, 100};
  std::array const launches = {prepare(scale_add, x, 3, 1), prepare(scale_add, x, 2, 0)};
  prepared const both = graph(device::host(), launches);
  both(host_stream());
  CHECK(x == std::vector<int>{2, 8, 14, 602});
  both(host_stream());
  CHECK(x == std::vector<int>{14, 50, 86, 3614});
  prepared const nested = graph(device::host(), std::array{both, launches[1]});  // a graph is a launch
  nested(host_stream());
  CHECK(x == std::vector<int>{172, 604, 1036, 43372});
}

TEST_CASE("a graph with a launch that was moved from says so") {
  std::vector<int> x(4);
  std::array launches = {prepare(scale_add, x, 1, 1)};
  prepared const taken = std::move(launches[0]);
  CHECK_THROWS_WITH(graph(device::host(), launches)(host_stream()), ContainsSubstring("it was moved from"));
}
