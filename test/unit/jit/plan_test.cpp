// Tests plans that are given: explain prints one, and a kernel follows it or is refused with what it could follow.
#include <string>

#include "support/catch.hpp"
#include "tegula/dsl/dsl.hpp"
#include "tegula/jit/budget.hpp"
#include "tegula/jit/launch.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Multiplies, and takes the product of the result and a small tile too.
inline constexpr auto two = kernel("two", [](in<bf16, 2> a, in<bf16, 2> b, in<bf16, 2> c, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  tile sums = loop(ceil_div(a.extent(1), 64), zeros<float>(shape<64, 128>), [&](auto k, auto sum) {
    return dot(load(a, shape<64, 64>, g[0], k), load(b, shape<64, 128>, k, 0), sum);
  });
  store(y, shape<64, 64>, dot(cast<bf16>(sums), load(c, shape<128, 64>, 0, g[1])), g[0], g[1]);
});

inline constexpr auto rows = kernel("rows", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 1024>);
  tile v = load(x, shape<1, 1024>, g[0], 0);
  store(y, shape<1, 1024>, v / sum(v, axis<1>), g[0], 0);
});

CompileOptions planned(std::string plan) {
  CompileOptions options;
  options.plan = std::move(plan);
  return options;
}

std::string image(CompileOptions options) {
  options.target = Target::cuda;
  options.facts.assign(4, TensorFacts{true, true});
  return compile(two, options).image;
}

}  // namespace

TEST_CASE("a plan that explain prints gives the same code, another one other code") {
  KernelFacts const own = facts(two);
  INFO(own.kernel_plan);
  CHECK_THAT(own.kernel_plan, ContainsSubstring("warps=") && ContainsSubstring(",wgmma=4x1"));
  CHECK_THAT(own.paths_text(), ContainsSubstring("plan " + own.kernel_plan + "\n"));
  CHECK(image(planned(own.kernel_plan)) == image({}));

  KernelFacts const other = facts(two, planned("warps=4,mma=2x2,mma=4x1"));
  INFO(other.paths_text());
  REQUIRE(other.dots.size() == 2);
  CHECK(other.dots[0].path == Path::mma);
  CHECK(other.dots[1].path == Path::mma);
  CHECK_THAT(other.dots[0].reason, ContainsSubstring("wgmma takes it, but the plan of the options not"));
  CHECK(image(planned("warps=4,mma=2x2,mma=4x1")) != image({}));
  KernelFacts const lanes = facts(two, planned("warps=8,lanes,lanes"));
  CHECK(lanes.dots[0].path == Path::lanes);
  CHECK(lanes.kernel_plan == "warps=8,lanes,lanes");

  CHECK(facts(rows).kernel_plan == "warps=4");
  CHECK(facts(rows, planned("warps=2")).warps == 2);
}

TEST_CASE("a plan that a kernel cannot follow is refused with those that it can") {
  CHECK_THROWS_WITH(facts(two, planned("warps=4,wgmma=4x1")),
                    ContainsSubstring("plan-kernel: @two cannot follow the plan warps=4,wgmma=4x1: it has 1 products, "
                                      "the kernel 2; without one the compiler takes warps="));
  CHECK_THROWS_WITH(facts(two, planned("warps=4,wgmma=2x2,lanes")),
                    ContainsSubstring("product 0 can be wgmma=4x1, mma=") && ContainsSubstring(", lanes;"));
  for (char const* text :
       {"4", "warps=0", "warps=4,", "warps=4,tensor=4x1,lanes", "warps=4,lanes=4x1,lanes", "warps=4,mma=4,lanes",
        "warps=4,mma=4x1x1x1,lanes", "warps=4,mma=4x1 ,lanes", "warps=99999999999999999999", "warps=4x2", "mma=4x1",
        "warps=4,open,lanes", "warps=4,,lanes"}) {
    INFO(text);
    CHECK_THROWS_WITH(facts(two, planned(text)),
                      ContainsSubstring(std::string("compile options: plan is \"") + text + "\": ") &&
                          ContainsSubstring("is not warps=8, wgmma=4x2, mma=2x2x2 (rows, columns, copies) or lanes"));
  }
}
