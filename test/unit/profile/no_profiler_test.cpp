// Reading profiles in a build with and without the profiler.
#include "profile/decode.hpp"
#include "support/catch.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;

TEST_CASE("a build without the profiler says so", "[profile][P11]") {
#if TEGULA_HAS_PROFILER
  CHECK_NOTHROW(profiling::require_profiler());
  CHECK(profiling::decode({}, {}, {}).empty());
#else
  using tegula::test::ContainsSubstring;
  CHECK_THROWS_WITH(profiling::require_profiler(), ContainsSubstring("configure it with -DTEGULA_PROFILER=ON"));
  CHECK_THROWS_AS(profiling::decode({}, {}, {}), UserError);
  CHECK_THROWS_AS(Profile{}.str(), UserError);
#endif
}
