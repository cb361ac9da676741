// Profiles several launches at once: a timeline of kernels.
#include <vector>

#include "support/catch.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;

namespace {

inline constexpr auto doubled = kernel("doubled", [](in<float, 1> a, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(a, shape<64>, g[0]) * 2, g[0]);
});
inline constexpr auto summed = kernel("summed", [](in<float, 1> a, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  tile sum = loop(5, zeros<float>(shape<64>), [&](auto, auto so_far) { return so_far + load(a, shape<64>, g[0]); });
  store(y, shape<64>, sum, g[0]);
});

}  // namespace

TEST_CASE("profile of launches: each kernel has a line and each launch a bar, in their order", "[P12]") {
  std::vector<float> a(256, 1), b(256), c(256), d(256);
  CompileOptions few;
  few.profile.compiler = true;
  few.profile.strategy = ProfileStrategy::device;
  few.profile.granularity = ProfileGranularity::cta;
  host_stream const order;
  std::vector<prepared> launches = {prepare(with(few), doubled, a, b), prepare(with(few), summed, b, c),
                                    prepare(with(few), doubled, c, d)};
  Profile const found = profile(order, launches);
  CHECK(d == std::vector<float>(256, 20));
  REQUIRE(found.rows.size() == 2);
  CHECK(found.role_name(found.rows[0].role) == "doubled");
  CHECK(found.role_name(found.rows[1].role) == "summed");
  REQUIRE(found.events.size() == 3);  // of the second run alone
  ProfileEvent const &first = found.events[0], &last = found.events[1], &middle = found.events[2];
  CHECK(first.stop <= middle.start);
  CHECK(middle.stop <= last.start);

  launches = {prepare(doubled, a, b)};
  REQUIRE_THROWS_WITH(profile(order, launches), test::ContainsSubstring("these launches make no records"));
}
