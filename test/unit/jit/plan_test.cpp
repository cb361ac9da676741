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

/// Multiplies in a loop, and takes the product of the result, which is added to what is carried.
inline constexpr auto chain = kernel("chain", [](in<bf16, 2> q, in<bf16, 2> k, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  tile a = load(q, shape<64, 64>, g[0], 0);
  tile sums = loop(ceil_div(k.extent(0), 64), zeros<float>(shape<64, 64>), [&](auto i, auto sum) {
    tile b = load(k, shape<64, 64>, i, 0);
    tile weights = cast<bf16>(exp(dot(a, trans(b))));
    return dot(weights, load(k, shape<64, 64>, i, 1), sum);
  });
  store(y, shape<64, 64>, sums, g[0], g[1]);
});

/// Few rows: tensor cores take the transpose.
inline constexpr auto few = kernel("few", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> y) {
  auto g = grid_over(y, shape<16, 64>);
  tile sums = loop(ceil_div(a.extent(1), 64), zeros<float>(shape<16, 64>), [&](auto k, auto sum) {
    return dot(load(a, shape<16, 64>, g[0], k), load(b, shape<64, 64>, k, g[1]), sum);
  });
  store(y, shape<16, 64>, sums, g[0], g[1]);
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

std::string image_of_chain(CompileOptions options) {
  options.target = Target::cuda;
  options.facts.assign(3, TensorFacts{true, true});
  return compile(chain, options).image;
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

  CHECK(facts(two, planned("warps=4,wgmma=4x1,mma=1x4+swapped")).kernel_plan == "warps=4,wgmma=4x1,mma=1x4+swapped");

  CHECK(facts(rows).kernel_plan == "warps=4");
  CHECK(facts(rows, planned("warps=2")).warps == 2);
}

TEST_CASE("a plan says which products are swapped, start early and run late") {
  KernelFacts const swapped = facts(few);
  CHECK(swapped.kernel_plan == "warps=4,wgmma=4x1+swapped");
  CHECK(facts(few, planned("warps=4,wgmma=4x1+swapped")).paths_text() == swapped.paths_text());
  KernelFacts const written = facts(few, planned("warps=4,mma=1x4"));
  CHECK(written.kernel_plan == "warps=4,mma=1x4");
  CHECK(written.dots.at(0).path == Path::mma);
  CHECK_THROWS_WITH(facts(few, planned("warps=4,wgmma=4x1")), ContainsSubstring("product 0 can be mma="));
  CHECK_THROWS_WITH(facts(few, planned("warps=4,wgmma=4x1+swapped+early")),
                    ContainsSubstring("no other product stands in a loop with product 0, so it cannot start early"));

  KernelFacts const own = facts(chain);
  CHECK(own.kernel_plan == "warps=4,wgmma=4x1+early,wgmma=4x1+early+late");
  KernelFacts const in_turn = facts(chain, planned("warps=4,wgmma=4x1,wgmma=4x1"));
  CHECK(in_turn.kernel_plan == "warps=4,wgmma=4x1,wgmma=4x1");
  CHECK(image_of_chain(planned(own.kernel_plan)) == image_of_chain({}));
  CHECK(image_of_chain(planned(in_turn.kernel_plan)).size() < image_of_chain({}).size());  // no prologue, no epilogue
  CHECK_THROWS_WITH(facts(chain, planned("warps=4,wgmma=4x1+late,wgmma=4x1+late")),
                    ContainsSubstring("product 0 cannot run late"));
  CHECK_THROWS_WITH(facts(few, planned("warps=4,wgmma=4x1+swapped+late")),
                    ContainsSubstring("product 0 cannot run late"));
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
        "warps=4,open,lanes", "warps=4,,lanes", "warps=4+late", "warps=4,lanes,lanes+", "warps=4,lanes,lanes+soon",
        "warps=4,lanes,lanes+late+early", "warps=4,lanes,lanes+late+late", "warps=4,lanes,lanes+early+together"}) {
    INFO(text);
    CHECK_THROWS_WITH(
        facts(two, planned(text)),
        ContainsSubstring(std::string("compile options: plan is \"") + text + "\": ") &&
            ContainsSubstring("is not warps=8, wgmma=4x2, mma=2x2x2 (rows, columns, copies) or lanes, with "
                              "+swapped, +early or +together, +late after it"));
  }
}
