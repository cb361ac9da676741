// Statistics, waits and files of profiles.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "profile/decode.hpp"
#include "support/json.hpp"
#include "support/catch.hpp"
#include "support/profile_buffer.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using tegula::support::Json;
using tegula::test::ContainsSubstring;
using tegula::test::ProfileBuffer;

namespace {

/// Makes CTAs with a producer and two consumers of a ring "x", and one clock a nanosecond.
Profile ring_profile(int ctas, int turns) {
  ProfileLayout layout;
  layout.rows = 3 * ctas;
  layout.slots = 64;
  layout.names = {{"x", "", 0, RecordKind::fill},
                  {"x", "", 0, RecordKind::wait_empty},
                  {"x", "", 0, RecordKind::wait_full},
                  {"</script><b>&\"", "sample.cpp", 12, RecordKind::user}};
  layout.roles = {{"producer", 0, 1}, {"consumer", 1, 2}};
  ProfileBuffer buffer(layout);
  for (int cta = 0; cta < ctas; ++cta)
    for (std::uint32_t warp = 0; warp < 3; ++warp) {
      std::uint64_t const begin = 1000;
      buffer.begin({1, static_cast<std::uint32_t>(cta), warp, static_cast<std::uint32_t>(cta)}, begin, 0);
      std::uint64_t now = 0;
      for (int turn = 0; turn < turns; ++turn) {
        if (warp == 0) {
          buffer.start(1, now);
          buffer.stop(1, now + 10);
          buffer.start(0, now + 10);
          buffer.stop(0, now + 100);
        } else {
          buffer.start(2, now);
          buffer.stop(2, now + 60);
          buffer.start(3, now + 60);
          buffer.value(turn);
          buffer.stop(3, now + 90 + static_cast<std::uint64_t>(turn));
        }
        now += 100;
      }
      buffer.end(begin + now, now);
    }
  return profiling::decode(layout, buffer.bytes(), {"gemm", "cuda:0", "SM", 1.0, 0});
}

}  // namespace

TEST_CASE("statistics give count, min, median, max, sum and share of the role's time", "[profile]") {
  Profile const profile = ring_profile(2, 4);
  std::vector<ProfileStatistic> const all = profile.statistics();
  REQUIRE(all.size() == 4);
  CHECK(profile.label(all[0].name) == "fill x");
  CHECK(profile.role_name(all[0].role) == "producer");
  CHECK(all[0].count == 8);
  CHECK(all[0].share == Approx(0.9));
  CHECK(profile.label(all[2].name) == "wait full x");
  CHECK(all[2].count == 16);
  CHECK(all[2].sum == Approx(16 * 60));
  CHECK(all[2].share == Approx(0.6));
  ProfileStatistic const& user = all[3];
  CHECK(user.min == Approx(30));
  CHECK(user.median == Approx(31.5));
  CHECK(user.max == Approx(33));
  CHECK(user.sum == Approx(4 * (30 + 31 + 32 + 33)));
}

TEST_CASE("waits say in per cent which side of a ring waits", "[profile]") {
  Profile const profile = ring_profile(2, 4);
  std::vector<ProfileWait> const waits = profile.waits();
  REQUIRE(waits.size() == 1);
  CHECK(waits[0].ring == "x");
  CHECK(waits[0].consumers == Approx(60));
  CHECK(waits[0].producers == Approx(10));
  CHECK_THAT(profile.str(), ContainsSubstring("ring x: consumers waited 60.0 % of their time, producers 10.0 %: "
                                              "producer bound"));
}

TEST_CASE("the trace is JSON with one named track per processor, CTA and warp", "[profile]") {
  Profile const profile = ring_profile(3, 4);
  Json const trace = Json::parse(profile.trace());
  std::set<std::pair<int, int>> tracks;
  std::set<std::string> titles;
  std::size_t whole = 0;
  for (Json const& event : trace["traceEvents"]) {
    if (event["name"] == "thread_name") {
      tracks.emplace(event["pid"], event["tid"]);
      titles.insert(event["args"]["name"].get<std::string>());
    }
    if (event["ph"] != "X") continue;
    ++whole;
    CHECK(event["ts"].get<double>() >= 0);
    CHECK(event["dur"].get<double>() > 0);
    CHECK(tracks.count({event["pid"], event["tid"]}) == 1);
  }
  CHECK(tracks.size() == 9);
  CHECK(titles.count("CTA 2 warp 0 producer") == 1);
  CHECK(titles.count("CTA 2 warp 2 consumer") == 1);
  CHECK(whole == profile.events.size());
  auto const user = std::ranges::find_if(trace["traceEvents"], [](Json const& event) {
    return event["ph"] == "X" && event["args"].contains("value") && event["args"]["value"] == 2;
  });
  REQUIRE(user != trace["traceEvents"].end());
  CHECK((*user)["args"]["line"] == "sample.cpp:12");
  CHECK((*user)["dur"].get<double>() == Approx(0.032));
  CHECK(trace["otherData"]["kernel"] == "gemm");
}

TEST_CASE("halves are marked in the trace", "[profile]") {
  ProfileLayout layout;
  layout.rows = 1;
  layout.slots = 4;
  layout.names = {{"a", "", 0, RecordKind::user}, {"b", "", 0, RecordKind::user}};
  ProfileBuffer buffer(layout);
  buffer.begin({}, 1000, 0);
  buffer.stop(0, 10);
  buffer.start(1, 20);
  buffer.end(1100, 100);
  Profile const profile = profiling::decode(layout, buffer.bytes(), {"k", "d", "SM", 1.0, 0});
  Json const trace = Json::parse(profile.trace());
  int stops = 0, starts = 0;
  for (Json const& event : trace["traceEvents"]) {
    stops += event["ph"] == "i" && event["args"]["half"] == "stop without start";
    starts += event["ph"] == "X" && event["args"]["half"] == "start without stop";
  }
  CHECK(stops == 1);
  CHECK(starts == 1);
}

TEST_CASE("the page needs no network, and names of the user cannot break it", "[profile]") {
  Profile const profile = ring_profile(2, 4);
  std::string const page = profile.page();
  CHECK(page.find("http") == std::string::npos);
  CHECK(page.find("src=") == std::string::npos);
  std::size_t scripts = 0;
  for (std::size_t at = page.find("</script>"); at != std::string::npos; at = page.find("</script>", at + 1)) ++scripts;
  CHECK(scripts == 1);
  CHECK_THAT(page, ContainsSubstring("&lt;/script&gt;&lt;b&gt;&amp;&quot;"));
  CHECK_THAT(page, ContainsSubstring("producer bound"));
  std::size_t const begin = page.find("const data = ") + 13;
  Json const data = Json::parse(page.substr(begin, page.find(";\n", begin) - begin));
  CHECK(data["start"].size() == profile.events.size());
  CHECK(data["tracks"].size() == 6);
}

TEST_CASE("the picture shows the rows of a view, and says how many it leaves out", "[profile]") {
  Profile const profile = ring_profile(4, 4);
  std::string const whole = profile.svg();
  CHECK_THAT(whole, ContainsSubstring("CTA 3 warp 2 consumer"));
  ProfileView view;
  view.rows = 3;
  view.to = 100;
  std::string const part = profile.svg(view);
  CHECK_THAT(part, ContainsSubstring("and 9 more warps") && !ContainsSubstring("CTA 1 warp"));
  CHECK(part.size() < whole.size() / 3);
}

TEST_CASE("save writes four files and keeps earlier ones", "[profile]") {
  std::string pattern = (std::filesystem::temp_directory_path() / "tegula-profile-XXXXXX").string();
  std::filesystem::path const folder = ::mkdtemp(pattern.data());
  Profile profile = ring_profile(1, 2);
  profile.kernel = "gemm<bf16>/x";
  Profile::Files const first = profile.save(folder.string());
  Profile::Files const second = profile.save(folder.string());
  CHECK(std::filesystem::path(first.page).filename() == "gemm_bf16__x.html");
  CHECK(std::filesystem::path(second.page).filename() == "gemm_bf16__x.2.html");
  for (std::string const& path : {first.trace, first.page, first.svg, first.summary, second.trace})
    CHECK(std::filesystem::file_size(path) > 100);
  std::ifstream in(first.trace);
  std::stringstream text;
  text << in.rdbuf();
  CHECK(text.str() == profile.trace());
  // A file of others under one of the four names stays; a link is not followed.
  std::filesystem::create_symlink(first.trace, folder / "gemm_bf16__x.3.svg");
  Profile::Files const fourth = profile.save(folder.string());
  CHECK(std::filesystem::path(fourth.page).filename() == "gemm_bf16__x.4.html");
  CHECK_FALSE(std::filesystem::exists(folder / "gemm_bf16__x.3.html"));
  std::filesystem::remove_all(folder);
  CHECK_THROWS_WITH(profile.save("/proc/none"), ContainsSubstring("cannot make the folder /proc/none"));
}
