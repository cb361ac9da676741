// What a kernel takes, counted on IR that no pass has seen.
#include "analysis/budget.hpp"

#include "support/catch.hpp"
#include "support/module.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::test;
using test::ContainsSubstring;

TEST_CASE("budget: more threads than a CTA has are refused with both numbers", "[N5]") {
  ir::Module const module = unverified("kernel @wide() warps = 40 {\n  return\n}\n");
  Budget const found = analysis::budget(module.kernel());
  REQUIRE(found.broken.size() == 1);
  CHECK(found.broken.front().name == "threads");
  CHECK_FALSE(found.fits());
  CHECK_THROWS_WITH(analysis::refuse_over_budget(module.kernel()),
                    "compile: @wide: 40 warps, so 1280 threads of a CTA, 1024 allowed; ask for 32 warps or fewer");
  CHECK_NOTHROW(analysis::refuse_over_budget(unverified("kernel @good() warps = 32 {\n  return\n}\n").kernel()));
}

TEST_CASE("budget: shared memory is counted to its last byte, mbarriers one by one", "[N5]") {
  auto const with = [](std::string const& last) {
    return unverified(
        "kernel @shared() warps = 4 {\n  %ring = shared_alloc {offset = 0} : shared<512x64xf32, dense>\n" + last +
        "  return\n}\n");
  };
  ir::Module const fits = with("  %full = shared_alloc {align = 8, offset = 131072} : mbarrier<3>\n");
  CHECK(analysis::budget(fits.kernel()).shared == 131072 + 3 * 8);
  CHECK(analysis::budget(fits.kernel()).barriers == 3);
  CHECK(analysis::budget(fits.kernel()).fits());
  ir::Module const over = with("  %out = shared_alloc {offset = 131072} : shared<416x64xf32, dense>\n");
  CHECK(analysis::budget(over.kernel()).broken.front().name == "shared");
  CHECK_THROWS_WITH(analysis::refuse_over_budget(over.kernel()),
                    ContainsSubstring("237568 bytes needed, 232448 allowed; %ring 131072, %out 106496; take fewer"));
}
