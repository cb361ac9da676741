// Tests budgets of kernels, counted on IR before any pass.
#include "analysis/budget.hpp"

#include "support/catch.hpp"
#include "support/module.hpp"
#include "tegula/support/error.hpp"
#include "tegula/target/target_info.hpp"

using namespace tegula;
using namespace tegula::test;
using test::ContainsSubstring;

TEST_CASE("budget: more threads than a CTA has are refused with both numbers", "[N5]") {
  ir::Module const module = unverified("kernel @wide() warps = 40 {\n  return\n}\n");
  Budget const found = analysis::budget(module.kernel(), sm_90a);
  REQUIRE(found.broken.size() == 1);
  CHECK(found.broken.front().name == "threads");
  CHECK_FALSE(found.fits());
  CHECK_THROWS_WITH(analysis::refuse_over_budget(module.kernel(), sm_90a),
                    "compile: @wide: 40 warps, so 1280 threads of a CTA, 1024 allowed; ask for 32 warps or fewer");
  CHECK_NOTHROW(
      analysis::refuse_over_budget(unverified("kernel @good() warps = 32 {\n  return\n}\n").kernel(), sm_90a));
}

TEST_CASE("budget: warps for copies are named where there are too many threads, and the advice leaves room for them") {
  ir::Module const module = unverified(
      "kernel @roles() warps = 36 {\n  warp_specialize {warps = [4, 32], replicas = [1, 1], registers = [0, 0]} "
      "(%p: i64) {\n    yield\n  } and (%g: i64) {\n    yield\n  }\n  return\n}\n");
  CHECK_THROWS_WITH(analysis::refuse_over_budget(module.kernel(), sm_90a),
                    "compile: @roles: 36 warps, 4 of them for copies, so 1152 threads of a CTA, 1024 allowed; ask for "
                    "28 warps or fewer, or turn warp specialization off, which adds warps for copies");
}

TEST_CASE("budget: shared memory is counted to its last byte, mbarriers one by one", "[N5]") {
  auto const with = [](std::string const& last) {
    return unverified(
        "kernel @shared() warps = 4 {\n  %ring = buffer_alloc {offset = 0} : shared<512x64xf32, dense>\n" + last +
        "  return\n}\n");
  };
  ir::Module const fits = with("  %full = buffer_alloc {align = 8, offset = 131072} : mbarrier<3>\n");
  CHECK(analysis::budget(fits.kernel(), sm_90a).shared == 131072 + 3 * 8);
  CHECK(analysis::budget(fits.kernel(), sm_90a).barriers == 3);
  CHECK(analysis::budget(fits.kernel(), sm_90a).fits());
  ir::Module const over = with("  %out = buffer_alloc {offset = 131072} : shared<416x64xf32, dense>\n");
  CHECK(analysis::budget(over.kernel(), sm_90a).broken.front().name == "shared");
  CHECK_THROWS_WITH(analysis::refuse_over_budget(over.kernel(), sm_90a),
                    ContainsSubstring("237568 bytes needed, 232448 allowed; %ring 131072, %out 106496; take fewer"));
}

TEST_CASE("budget: a product that uses mma is named with the reason and the remedy", "[N5]") {
  ir::Module const module = module_of(
      "kernel @product(%A: in tensor<?x?xi8>, %C: out tensor<?x?xi32>) warps = 1 {\n"
      "  %zero = constant {value = 0 : i64} : i64\n"
      "  %a = constant {value = 1 : i8} : tile<16x32xi8, mma_a(1,1)>\n"
      "  %b = constant {value = 1 : i8} : tile<32x8xi8, mma_b(1,1)>\n"
      "  %none = constant {value = 0 : i32} : tile<16x8xi32, mma(1,1)>\n"
      "  %d = mma %a, %b, %none {by_warps = \"rows(16)\"} : tile<16x8xi32, mma(1,1)>\n"
      "  store %C, %d, %zero, %zero\n"
      "  return\n}\n");
  Budget const found = analysis::budget(module.kernel(), sm_90a);
  CHECK(found.fits());
  REQUIRE(found.broken.size() == 1);
  CHECK(found.broken.front().name == "wgmma");
  CHECK(found.broken.front().sentence ==
        "a product of i8 goes warp by warp from registers: wgmma takes multiples of 64 rows, not 16");
  CHECK_THAT(found.broken.front().fix, ContainsSubstring("K last"));
}

TEST_CASE("budget: the parts of shared memory add up to its total, gaps and shared bytes included", "[N5]") {
  // %b shares bytes with %a; %f begins 96 bytes behind %e.
  ir::Module const module = unverified(
      "kernel @parts() warps = 4 {\n"
      "  %a = buffer_alloc {offset = 0} : shared<1024x64xf32, dense>\n"
      "  %b = buffer_alloc {offset = 131072} : shared<640x64xf32, dense>\n"
      "  %c = buffer_alloc {offset = 294912} : shared<64x64xf32, dense>\n"
      "  %d = buffer_alloc {offset = 311296} : shared<32x64xf32, dense>\n"
      "  %e = buffer_alloc {offset = 319488} : shared<32xf32, dense>\n"
      "  %f = buffer_alloc {align = 8, offset = 319712} : mbarrier<4>\n"
      "  return\n}\n");
  CHECK_THROWS_WITH(analysis::refuse_over_budget(module.kernel(), sm_90a),
                    ContainsSubstring("319744 bytes needed, 232448 allowed; %a 262144, %b 32768, %c 16384, 3 others "
                                      "8352, gaps 96; take fewer"));
}
