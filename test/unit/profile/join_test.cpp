// Tests the timeline of several kernels' launches.
#include "profile/decode.hpp"

#include "support/catch.hpp"

using namespace tegula;

namespace {

/// Returns a profile of launches, each of two CTAs that start and stop one ns apart.
Profile kernel_of(char const* name, std::uint64_t origin, std::vector<double> const& starts, double lasts) {
  Profile result;
  result.kernel = name;
  result.device = "a device";
  result.origin = origin;
  for (std::size_t launch = starts.size(); launch-- > 0;)  // numbers need not follow time
    for (std::uint32_t cta = 0; cta < 2; ++cta) {
      ProfileRow row;
      row.launch = 100 - launch;
      row.cta = cta;
      row.start = starts[launch] + cta;
      row.stop = row.start + lasts;
      result.rows.push_back(row);
    }
  return result;
}

}  // namespace

TEST_CASE("join: a row for each kernel and a bar for each launch, on one time", "[P12]") {
  Profile first = kernel_of("first", 1'000'000'007, {0, 50}, 10);
  Profile const second = kernel_of("second", 1'000'000'000, {20}, 5);
  ProfileName waits;
  waits.kind = RecordKind::wait_launch;
  first.names.push_back(waits);
  for (std::size_t i = 0; i < first.rows.size(); ++i) {  // of all CTAs, 3 ns
    ProfileEvent event;
    event.row = static_cast<std::int32_t>(i);
    event.start = first.rows[i].start;
    event.stop = event.start + 3;
    first.rows[i].first_event = static_cast<std::int32_t>(i);
    first.rows[i].events = 1;
    first.events.push_back(event);
  }
  Profile const kernels[] = {first, Profile(), second};
  Profile const all = profiling::join("3 launches", kernels);
  REQUIRE(all.rows.size() == 2);
  CHECK(all.role_name(all.rows[0].role) == "first");
  CHECK(all.role_name(all.rows[1].role) == "second");
  REQUIRE(all.events.size() == 5);
  auto const is = [&](std::size_t at, int depth, double start, double stop) {
    ProfileEvent const& event = all.events[at];
    INFO(at << ": " << event.depth << ", " << event.start << " to " << event.stop);
    return event.depth == depth && event.start == start && event.stop == stop && event.duration == stop - start;
  };
  CHECK(is(0, 0, 7, 18));  // from the first CTA's start to the second one's stop
  CHECK(is(1, 1, 7, 11));
  CHECK(is(2, 0, 57, 68));
  CHECK(is(3, 1, 57, 61));
  CHECK(is(4, 0, 20, 26));
  CHECK(all.rows[0].start == 7);
  CHECK(all.rows[0].stop == 68);
  CHECK(all.duration() == 68);
  CHECK(all.svg().find(">second</text>") != std::string::npos);
  CHECK(all.svg().find("CTA") == std::string::npos);
  CHECK(all.trace().find("\"wait for previous launch\"") != std::string::npos);
  CHECK(all.str().starts_with("3 launches on a device: 2 kernels, 5 events, 68"));
}
