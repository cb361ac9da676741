// Decoding of buffers of records: pairs, values, wraps, clocks of several processors, everything that can be missing.
#include <cmath>
#include <map>

#include "profile/decode.hpp"
#include "support/catch.hpp"
#include "support/profile_buffer.hpp"
#include "support/random.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using tegula::profiling::Source;
using tegula::test::ContainsSubstring;
using tegula::test::ProfileBuffer;
using State = ProfileEvent::State;

namespace {

ProfileLayout layout_of(std::int32_t rows, std::int32_t slots, bool circular = false) {
  ProfileLayout layout;
  layout.rows = rows;
  layout.slots = slots;
  layout.circular = circular;
  layout.names = {{"a", "kernel.cpp", 3, RecordKind::user},
                  {"b", "kernel.cpp", 4, RecordKind::user},
                  {"x", "", 0, RecordKind::wait_full},
                  {"x", "", 0, RecordKind::wait_empty}};
  layout.roles = {{"producer", 0, 1}, {"consumer", 1, 2}};
  return layout;
}

Source const source{"k", "simulator", "SM", 2.0, 0.0};  // two clocks a nanosecond

Profile decoded(ProfileBuffer& buffer, Source const& from = source) {
  return profiling::decode(buffer.layout(), buffer.bytes(), from);
}

ProfileEvent const& event(Profile const& profile, std::size_t number) { return profile.events.at(number); }

}  // namespace

TEST_CASE("decode returns nested pairs of a warp in program order, with values", "[profile][P1]") {
  ProfileBuffer buffer(layout_of(4, 16));
  buffer.begin({7, 3, 1, 5}, 1000, 100);
  buffer.start(0, 120);
  buffer.value(-42);
  buffer.start(1, 140);
  buffer.stop(1, 160);
  buffer.start(1, 170);
  buffer.stop(1, 190);
  buffer.stop(0, 220);
  buffer.end(1100, 300);
  Profile const profile = decoded(buffer);
  REQUIRE(profile.rows.size() == 1);
  ProfileRow const& row = profile.rows[0];
  CHECK(row.launch == 7);
  CHECK(row.cta == 3);
  CHECK(row.warp == 1);
  CHECK(row.processor == 5);
  CHECK(profile.role_name(row.role) == "consumer");
  CHECK(row.ended);
  CHECK(row.stop - row.start == Approx(100));
  REQUIRE(profile.events.size() == 3);
  CHECK(event(profile, 0).name == 0);
  CHECK(event(profile, 0).depth == 0);
  CHECK(event(profile, 0).clocks == 100);
  CHECK(event(profile, 0).value == -42);
  CHECK(event(profile, 0).start == Approx(10));
  CHECK(event(profile, 0).stop == Approx(60));
  CHECK(event(profile, 1).name == 1);
  CHECK(event(profile, 1).depth == 1);
  CHECK(event(profile, 1).start == Approx(20));
  CHECK(event(profile, 2).duration == Approx(10));
  for (ProfileEvent const& e : profile.events) CHECK(e.state == State::whole);
}

TEST_CASE("a buffer that no warp wrote decodes as empty", "[profile][P3]") {
  ProfileBuffer buffer(layout_of(4, 16));
  Profile const profile = decoded(buffer);
  CHECK(profile.empty());
  CHECK(profile.events.empty());
  CHECK(profile.dropped_rows == 0);
  CHECK_THAT(profile.str(), ContainsSubstring("0 events"));
  CHECK(profile.statistics().empty());

  SECTION("a slot that was not written is empty, too") {
    buffer.begin({}, 1000, 0);
    buffer.slot(0, 0);
    buffer.end(1001, 2);
    Profile const holed = decoded(buffer);
    CHECK(holed.rows.size() == 1);
    CHECK(holed.events.empty());
    CHECK(holed.malformed_slots == 1);
  }
}

TEST_CASE("both strategies decode to the same sequence of events", "[profile][P9]") {
  Profile profiles[2];
  for (ProfileStrategy const strategy : {ProfileStrategy::shared, ProfileStrategy::device}) {
    ProfileLayout layout = layout_of(8, 8);
    layout.strategy = strategy;
    layout.shared_bytes = strategy == ProfileStrategy::shared ? 3 * 64 : 0;
    ProfileBuffer buffer(layout);
    // Rows are claimed at the start with the device strategy and at the end with the shared one.
    bool const late = strategy == ProfileStrategy::shared;
    for (std::uint32_t k = 0; k < 3; ++k) {
      std::uint32_t const warp = late ? 2 - k : k;
      buffer.begin({1, 0, warp, 0}, 1000 + warp, 2 * warp);
      buffer.start(0, 2 * warp + 10);
      buffer.stop(0, 2 * warp + 30);
      buffer.end(1100 + warp, 2 * warp + 200);
    }
    profiles[static_cast<int>(strategy)] = decoded(buffer);
  }
  REQUIRE(profiles[0].rows.size() == 3);
  REQUIRE(profiles[0].events.size() == profiles[1].events.size());
  for (std::size_t i = 0; i < profiles[0].events.size(); ++i) {
    ProfileEvent const &a = profiles[0].events[i], &b = profiles[1].events[i];
    CHECK(a.name == b.name);
    CHECK(a.row == b.row);
    CHECK(a.start == Approx(b.start));
    CHECK(a.clocks == b.clocks);
  }
  CHECK(profiles[0].shared_bytes == 192);
  CHECK(profiles[1].shared_bytes == 0);
}

TEST_CASE("slots and rows that did not fit are counted, not read", "[profile][P16]") {
  ProfileBuffer buffer(layout_of(2, 4));
  for (std::uint32_t cta = 0; cta < 100'000; ++cta) {
    buffer.begin({1, cta, 0, 0}, 1000 + cta, cta * 2);
    for (std::uint64_t i = 0; i < 3; ++i) {
      buffer.start(0, cta * 2 + i);
      buffer.stop(0, cta * 2 + i + 1);
    }
    buffer.end(1005 + cta, cta * 2 + 10);
  }
  Profile const profile = decoded(buffer);
  CHECK(profile.rows.size() == 2);
  CHECK(profile.dropped_rows == 99'998);
  CHECK(profile.dropped_slots == 4);  // two of each row
  CHECK(profile.events.size() == 4);
  CHECK(profile.buffer_bytes == 64 + 2 * 96);  // 48 bytes and 4 slots, in sectors of 32
  CHECK_THAT(profile.str(), ContainsSubstring("99998 warps found no row in the buffer"));
  CHECK_THAT(profile.str(), ContainsSubstring("4 slots did not fit"));
}

TEST_CASE("a circular row keeps the last slots, and its oldest may be half a pair", "[profile][P16]") {
  ProfileBuffer buffer(layout_of(2, 4, true));
  buffer.begin({}, 1000, 0);
  for (std::uint64_t i = 0; i < 10; ++i) {
    buffer.start(i % 2 == 0 ? 0u : 1u, 100 * i);
    buffer.stop(i % 2 == 0 ? 0u : 1u, 100 * i + 40);
  }
  SECTION("whole pairs") {
    buffer.end(2000, 2000);
    Profile const profile = decoded(buffer);
    REQUIRE(profile.events.size() == 2);
    CHECK(profile.dropped_slots == 16);
    CHECK(event(profile, 0).name == 0);
    CHECK(event(profile, 0).start == Approx(400));
    CHECK(event(profile, 1).start == Approx(450));
    CHECK(event(profile, 1).clocks == 40);
  }
  SECTION("the start of the oldest was written over") {
    buffer.start(0, 1000);
    buffer.end(2000, 2000);
    Profile const profile = decoded(buffer);
    REQUIRE(profile.events.size() == 3);
    CHECK(event(profile, 0).state == State::no_start);
    CHECK(event(profile, 0).name == 0);
    CHECK(event(profile, 0).start == Approx(420));
    CHECK(event(profile, 1).state == State::whole);
    CHECK(event(profile, 2).state == State::no_stop);
    CHECK(event(profile, 2).stop == Approx(1000));
    std::vector<ProfileStatistic> const all = profile.statistics();
    std::int64_t halves = 0;
    for (ProfileStatistic const& s : all) halves += s.halves;
    CHECK(halves == 2);
    CHECK_THAT(profile.str(), ContainsSubstring("1 stop has no start") && ContainsSubstring("1 start has no stop"));
  }
  SECTION("the oldest slot is the value of a record that was written over") {
    buffer.start(0, 1000);
    buffer.value(5);
    buffer.stop(0, 1010);
    buffer.start(1, 1020);
    buffer.stop(1, 1030);
    // Now slots: value, stop, start, stop.
    buffer.end(2000, 2000);
    Profile const profile = decoded(buffer);
    CHECK(profile.malformed_slots == 0);
    REQUIRE(profile.events.size() == 2);
    CHECK(event(profile, 0).state == State::no_start);
    CHECK_FALSE(event(profile, 0).value);
    CHECK(event(profile, 1).clocks == 10);
  }
}

TEST_CASE("clocks that wrap at 32 bits are followed", "[profile]") {
  constexpr std::uint64_t wrap = std::uint64_t{1} << 32;
  for (bool const circular : {false, true}) {
    ProfileBuffer buffer(layout_of(4, 4, circular));
    std::uint64_t const begin = 3 * wrap - 100;
    std::uint64_t clock = begin;
    buffer.begin({}, 1'000'000, begin);
    for (int i = 0; i < 8; ++i) {  // each step is less than a wrap, all together are several
      clock += wrap / 2;
      buffer.start(0, clock);
      clock += wrap / 3;
      buffer.stop(0, clock);
    }
    clock += 1000;
    buffer.end(1'000'000 + (clock - begin) / 2, clock);
    Profile const profile = decoded(buffer);
    CHECK(profile.uncertain_rows == 0);
    REQUIRE(profile.events.size() == 2);
    for (ProfileEvent const& e : profile.events) CHECK(e.clocks == static_cast<std::int64_t>(wrap / 3));
    double const first = circular ? 6 * (wrap / 2 + wrap / 3) + wrap / 2 : wrap / 2;
    CHECK(event(profile, 0).start == Approx(first / 2));
    CHECK(profile.rows[0].stop == Approx(static_cast<double>(clock - begin) / 2));
  }
  SECTION("a gap of more than 2^32 clocks is said") {
    ProfileBuffer buffer(layout_of(4, 4));
    buffer.begin({}, 1000, 0);
    buffer.start(0, 10);
    buffer.stop(0, 3 * wrap + 20);
    buffer.end(1000 + (3 * wrap + 30) / 2, 3 * wrap + 30);
    Profile const profile = decoded(buffer);
    CHECK(profile.uncertain_rows == 1);
    CHECK_THAT(profile.str(), ContainsSubstring("made no record for 2^32 clocks"));
  }
}

TEST_CASE("rows of many processors line up by the shared timer, exactly within a processor", "[profile]") {
  // Each processor's counter begins elsewhere; the timer has steps of a microsecond.
  test::Random random(test::data_seed);
  ProfileLayout layout = layout_of(256, 4);
  ProfileBuffer buffer(layout);
  constexpr double rate = 1.7;
  std::map<std::pair<std::uint32_t, std::uint32_t>, double> truth;  // start of the event by CTA and warp, ns
  for (std::uint32_t cta = 0; cta < 64; ++cta) {
    std::uint32_t const processor = cta % 16;
    std::uint64_t const counter = processor * 0x123456789ull;
    double const cta_start = 5e6 + (cta / 16) * 90'000 + random.below(2000);
    for (std::uint32_t warp = 0; warp < 3; ++warp) {
      double const begins = cta_start + random.below(300), ends = begins + 70'000 + random.below(5000);
      double const at = begins + 100 + random.below(50'000);
      auto const clock = [&](double time) { return counter + static_cast<std::uint64_t>(std::llround(time * rate)); };
      auto const timer = [](double time) { return static_cast<std::uint64_t>(time / 1000) * 1000; };
      buffer.begin({9, cta, warp, processor}, timer(begins), clock(begins));
      buffer.start(0, clock(at));
      buffer.stop(0, clock(at + 500));
      buffer.end(timer(ends), clock(ends));
      truth[{cta, warp}] = at;
    }
  }
  Profile const profile = decoded(buffer, {"k", "d", "SM", 2.0, 0});
  CHECK(profile.clocks_per_ns == Approx(rate).epsilon(0.02));
  REQUIRE(profile.rows.size() == 192);
  double first = 0;
  for (ProfileEvent const& e : profile.events) {
    ProfileRow const& row = profile.rows[static_cast<std::size_t>(e.row)];
    double const shift = e.start - truth[{row.cta, row.warp}];
    if (&e == &profile.events.front()) first = shift;
    CHECK(std::abs(shift - first) < 2500);  // the timer's step, and the rate's error over the whole time
    if (row.warp == 0) continue;
    ProfileEvent const& other =
        profile.events[static_cast<std::size_t>(profile.rows[static_cast<std::size_t>(e.row - 1)].first_event)];
    double const apart = e.start - other.start,
                 true_apart = truth[{row.cta, row.warp}] - truth[{row.cta, row.warp - 1}];
    CHECK(apart == Approx(true_apart).epsilon(0.03).margin(1.5));
  }
}

TEST_CASE("the cost of records is subtracted, and never more than was measured", "[profile]") {
  ProfileBuffer buffer(layout_of(2, 16));
  buffer.begin({}, 1000, 0);
  buffer.start(0, 100);
  buffer.start(1, 110);
  buffer.stop(1, 150);
  buffer.stop(0, 200);
  buffer.end(2000, 2000);
  Profile const profile = decoded(buffer, {"k", "d", "SM", 2.0, 8});
  CHECK(profile.record_clocks == Approx(8));
  CHECK(event(profile, 0).duration == Approx((100 - 3 * 8) / 2.0));
  CHECK(event(profile, 1).duration == Approx((40 - 8) / 2.0));
  CHECK(event(profile, 0).clocks == 100);
  CHECK(decoded(buffer, {"k", "d", "SM", 2.0, 50}).record_clocks == Approx(10));
}

TEST_CASE("one slot stops a name and starts another, with a value of the start", "[profile][P1]") {
  ProfileBuffer buffer(layout_of(2, 16));
  buffer.begin({}, 1000, 0);
  buffer.start(0, 100);
  buffer.change(0, 1, 160);
  buffer.value(9);
  buffer.change(1, 0, 200);
  buffer.stop(0, 260);
  buffer.end(2000, 2000);
  Profile const profile = decoded(buffer, {"k", "d", "SM", 2.0, 8});
  CHECK(profile.malformed_slots == 0);
  CHECK(profile.dropped_slots == 0);
  REQUIRE(profile.events.size() == 3);
  for (ProfileEvent const& e : profile.events) {
    CHECK(e.state == State::whole);
    CHECK(e.depth == 0);
  }
  CHECK(event(profile, 0).clocks == 60);
  CHECK(event(profile, 1).clocks == 40);
  CHECK(event(profile, 1).start == Approx(event(profile, 0).stop));
  CHECK(event(profile, 1).value == 9);
  CHECK_FALSE(event(profile, 0).value);
  CHECK(event(profile, 2).clocks == 60);
  CHECK(profile.record_clocks == Approx(8));  // not the 0 clocks between the two halves of a slot
  CHECK(event(profile, 0).duration == Approx((60 - 8) / 2.0));

  SECTION("a stop stops one name alone, and numbers without a name are malformed") {
    buffer.slot(profile_tag(ProfileSlotKind::stop, 0, 1), 300);
    buffer.slot(profile_tag(ProfileSlotKind::start, 0, 4), 300);
    buffer.slot(profile_tag(ProfileSlotKind::start, 0, max_stopped_names - 1), 300);
    CHECK(decoded(buffer).malformed_slots == 3);
  }
}

TEST_CASE("overlapping regions pair by name", "[profile]") {
  ProfileBuffer buffer(layout_of(2, 16));
  buffer.begin({}, 1000, 0);
  buffer.start(0, 10);
  buffer.start(1, 20);
  buffer.stop(0, 30);
  buffer.start(0, 35);
  buffer.stop(1, 40);
  buffer.stop(0, 50);
  buffer.end(2000, 2000);
  Profile const profile = decoded(buffer);
  REQUIRE(profile.events.size() == 3);
  CHECK(event(profile, 0).clocks == 20);
  CHECK(event(profile, 1).clocks == 20);
  CHECK(event(profile, 2).clocks == 15);
  CHECK(event(profile, 2).depth == 2);  // beside the open event, not over it
}

TEST_CASE("a warp that trapped has its records, and a claimed row without any is counted", "[profile]") {
  ProfileBuffer buffer(layout_of(4, 8));
  buffer.begin({1, 0, 0, 0}, 1000, 0);
  buffer.start(0, 10);
  buffer.stop(0, 20);
  buffer.start(1, 30);
  buffer.begin({1, 1, 0, 0}, 0, 0);
  Profile const profile = decoded(buffer);
  CHECK(profile.unwritten_rows == 1);
  REQUIRE(profile.rows.size() == 1);
  CHECK_FALSE(profile.rows[0].ended);
  REQUIRE(profile.events.size() == 2);
  CHECK(event(profile, 1).state == State::no_stop);
  CHECK_THAT(profile.str(), ContainsSubstring("1 warp did not reach the end") &&
                                ContainsSubstring("1 row was claimed but not written"));
}

TEST_CASE("two launches in one buffer stay apart", "[profile]") {
  ProfileBuffer buffer(layout_of(8, 4));
  for (std::uint64_t const launch : {21, 20})
    for (std::uint32_t cta = 0; cta < 2; ++cta) {
      buffer.begin({launch, cta, 0, cta}, 1000 * launch, 0);
      buffer.start(0, 10);
      buffer.stop(0, 20);
      buffer.end(1000 * launch + 100, 200);
    }
  Profile const profile = decoded(buffer);
  REQUIRE(profile.rows.size() == 4);
  CHECK(profile.rows[0].launch == 20);
  CHECK(profile.rows[2].launch == 21);
  CHECK(profile.rows[2].start - profile.rows[0].start == Approx(1000));
  CHECK_THAT(profile.str(), ContainsSubstring("2 launches, 4 CTAs"));
}

TEST_CASE("profiles of launches join: numbers and times go on, rows beyond the limit are counted", "[profile]") {
  auto const launched = [](std::uint32_t ctas) {
    ProfileBuffer buffer(layout_of(8, 4));
    for (std::uint32_t cta = 0; cta < ctas; ++cta) {
      buffer.begin({0, cta, 0, cta}, 1000, 0);
      buffer.start(0, 10);
      buffer.value(cta);
      buffer.stop(0, 20);
      buffer.end(1100, 200);
    }
    return decoded(buffer);
  };
  Profile all = launched(2);
  profiling::append(all, launched(3), 8);
  profiling::append(all, launched(0), 8);
  REQUIRE(all.rows.size() == 5);
  CHECK(all.rows[1].launch == 0);
  CHECK(all.rows[2].launch == 1);
  CHECK(all.rows[4].cta == 2);
  CHECK(all.rows[2].start == Approx(100));
  CHECK(all.duration() == Approx(200));
  REQUIRE(all.events.size() == 5);
  for (std::size_t i = 0; i < 5; ++i) {
    CHECK(event(all, i).row == static_cast<std::int32_t>(i));
    CHECK(all.rows[i].first_event == static_cast<std::int32_t>(i));
    CHECK(event(all, i).start == Approx(all.rows[i].start + 5));
  }
  CHECK_THAT(all.str(), ContainsSubstring("2 launches, 5 CTAs, 5 warps, 5 events"));
  profiling::append(all, launched(4), 8);
  CHECK(all.rows.size() == 8);
  CHECK(all.dropped_rows == 1);
  CHECK_THAT(all.str(), ContainsSubstring("1 warp found no row"));
  CHECK_THAT(launched(1).str(), ContainsSubstring("1 launch, 1 CTA, 1 warp, 1 event in"));
}

TEST_CASE("decode refuses a buffer that does not fit its layout", "[profile]") {
  ProfileBuffer buffer(layout_of(4, 16));
  std::vector<std::byte> bytes = buffer.bytes();
  bytes.pop_back();
  CHECK_THROWS_WITH(profiling::decode(buffer.layout(), bytes, source),
                    ContainsSubstring("holds 831 bytes but its 4 rows of 16 slots need 832"));
  ProfileLayout odd = layout_of(4, 12);
  CHECK_THROWS_WITH(profiling::decode(odd, bytes, source), ContainsSubstring("a power of two of slots"));
  odd = layout_of(-1, 8);
  CHECK_THROWS_AS(profiling::decode(odd, bytes, source), UserError);
  CHECK(profiling::decode(ProfileLayout{}, {}, source).empty());
}

TEST_CASE("any bytes decode without a crash, and all that is shown is finite", "[profile]") {
  test::Random random(test::data_seed);
  for (int round = 0; round < 300; ++round) {
    ProfileLayout layout = layout_of(1 + random.below(6), 1 << random.below(5), random.chance(50));
    if (random.chance(20)) layout.names.clear();
    ProfileBuffer buffer(layout);
    for (std::byte& byte : buffer.bytes())
      if (random.chance(70)) byte = static_cast<std::byte>(random.below(256));
    if (random.chance(50)) buffer.bytes()[3] = std::byte{0};
    Profile const profile = decoded(buffer);
    std::int64_t events = 0;
    for (ProfileRow const& row : profile.rows) {
      CHECK(std::isfinite(row.start));
      CHECK(std::isfinite(row.stop));
      CHECK(row.first_event == events);
      events += row.events;
    }
    CHECK(events == static_cast<std::int64_t>(profile.events.size()));
    for (ProfileEvent const& e : profile.events) {
      CHECK(std::isfinite(e.start));
      CHECK(std::isfinite(e.duration));
      CHECK(e.duration >= 0);
      CHECK(e.stop >= e.start);
    }
    CHECK_FALSE(profile.str().empty());
    CHECK_FALSE(profile.trace().empty());
    CHECK_FALSE(profile.page().empty());
    CHECK_FALSE(profile.svg().empty());
  }
}
