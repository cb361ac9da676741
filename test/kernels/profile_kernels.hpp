// Profiles kernels on an executor and checks all that does not depend on time.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>
#include <vector>

#include "support/catch.hpp"
#include "support/random.hpp"
#include "tegula/tegula.hpp"

namespace tegula::test {

/// Defines a softmax of rows with three regions, two of them nested, one with a value.
inline constexpr auto marked_softmax = kernel("marked_softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 256>);
  region whole("row", g[0]);
  tile v = load(x, shape<1, 256>, g[0], 0, pad(-inf));
  record(start, "exponentials");
  tile e = exp(v - max(v, axis<1>));
  record(stop, "exponentials");
  region last("divide");
  store(y, shape<1, 256>, e / sum(e, axis<1>), g[0], 0);
});

inline constexpr auto plain_softmax = kernel("plain_softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, 256>);
  tile v = load(x, shape<1, 256>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, 256>, e / sum(e, axis<1>), g[0], 0);
});

/// Lists the events without their times: CTA, warp, name, depth, value.
using EventList = std::vector<std::tuple<std::uint32_t, std::uint32_t, std::string, int, std::int64_t>>;
inline EventList events_of(Profile const& profile) {
  EventList list;
  for (ProfileEvent const& event : profile.events) {
    ProfileRow const& row = profile.rows[static_cast<std::size_t>(event.row)];
    CHECK(event.state == ProfileEvent::State::whole);
    list.emplace_back(row.cta, row.warp, profile.label(event.name), event.depth, event.value.value_or(-1));
  }
  return list;
}

/// Checks that events lie in their row, and inner ones in outer ones.
inline void check_times(Profile const& profile) {
  for (ProfileRow const& row : profile.rows) {
    CHECK(row.ended);
    std::vector<ProfileEvent const*> open;
    for (std::int32_t e = row.first_event; e < row.first_event + row.events; ++e) {
      ProfileEvent const& event = profile.events[static_cast<std::size_t>(e)];
      while (static_cast<std::int32_t>(open.size()) > event.depth) open.pop_back();
      double const from = open.empty() ? row.start : open.back()->start,
                   to = open.empty() ? row.stop : open.back()->stop;
      constexpr double slack = 1e-3;
      CHECK(event.start >= from - slack);
      CHECK(event.stop <= to + slack);
      CHECK(event.duration <= event.stop - event.start + slack);
      open.push_back(&event);
    }
  }
}

/// Profiles the softmax: `run(kernel, options, x, y)` returns the profile. `warps` record per CTA.
template <class Run>
void check_profiled_softmax(std::int64_t rows, std::uint32_t warps, Run const& run) {
  Random random(data_seed);
  std::vector<float> x(static_cast<std::size_t>(rows) * 256);
  for (float& value : x) value = static_cast<float>(random.below(4001) - 2000) / 500;
  std::vector<float> plain(x.size());
  CompileOptions const unprofiled;
  (void)run(plain_softmax, unprofiled, x, plain);
  EventList expected;
  for (std::uint32_t cta = 0; cta < static_cast<std::uint32_t>(rows); ++cta)
    for (std::uint32_t warp = 0; warp < warps; ++warp) {
      expected.emplace_back(cta, warp, "row", 0, cta);
      expected.emplace_back(cta, warp, "exponentials", 1, -1);
      expected.emplace_back(cta, warp, "divide", 1, -1);
    }
  for (ProfileStrategy const strategy : {ProfileStrategy::shared, ProfileStrategy::device}) {
    std::vector<float> y(x.size());
    CompileOptions options;
    options.profile.user = true;
    options.profile.strategy = strategy;
    Profile const profile = run(marked_softmax, options, x, y);
    CHECK(y == plain);
    CHECK(events_of(profile) == expected);
    check_times(profile);
    CHECK(profile.dropped_rows == 0);
    CHECK(profile.dropped_slots == 0);
    CHECK(profile.malformed_slots == 0);
    CHECK(profile.kernel == "marked_softmax");
    CHECK(profile.names[0].file.ends_with("profile_kernels.hpp"));
    std::vector<ProfileStatistic> const all = profile.statistics();
    REQUIRE(all.size() == 3);
    CHECK(profile.label(all[0].name) == "row");
    CHECK(all[0].count == rows * warps);
  }
  SECTION("rows and slots that do not fit are counted") {
    std::vector<float> y(x.size());
    CompileOptions options;
    options.profile.user = true;
    options.profile.granularity = ProfileGranularity::cta;
    options.profile.rows = 3;
    Profile profile = run(marked_softmax, options, x, y);
    CHECK(profile.rows.size() == 3);
    CHECK(profile.dropped_rows == rows - 3);
    CHECK(y == plain);
  }
  SECTION("CTAs are selected") {
    std::vector<float> y(x.size());
    CompileOptions options;
    options.profile.user = true;
    options.profile.granularity = ProfileGranularity::cta;
    options.profile.first_cta = 1;
    options.profile.cta_step = 3;
    options.profile.cta_count = 2;
    Profile const profile = run(marked_softmax, options, x, y);
    REQUIRE(profile.rows.size() == 2);
    CHECK(profile.rows[0].cta == 1);
    CHECK(profile.rows[1].cta == 4);
  }
}

}  // namespace tegula::test
