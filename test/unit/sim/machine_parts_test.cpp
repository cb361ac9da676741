// Tests the machine's parts on their own: mbarrier transitions, clocks, shadow memory, schedules, report text.
#include <algorithm>

#include "sim/machine/clock.hpp"
#include "sim/machine/mbarrier.hpp"
#include "sim/machine/shadow.hpp"
#include "tegula/support/error.hpp"
#include "unit/sim/machine_support.hpp"

namespace {

using namespace tegula::test;
using Fault = MbarrierFault;

}  // namespace

TEST_CASE("an mbarrier goes through its phases", "[machine]") {
  MbarrierState b;
  CHECK(b.arrive(1) == Fault::not_live);
  CHECK(b.init(0) == Fault::bad_count);
  CHECK(b.init(1 << 20) == Fault::bad_count);
  REQUIRE(b.init(2) == Fault::none);
  CHECK(b.init(2) == Fault::already_live);
  CHECK(b.passes(1));  // a fresh barrier: the phase before the first counts as done
  CHECK(!b.passes(0));
  CHECK(b.arrive(1) == Fault::none);
  CHECK(!b.completed());
  CHECK(b.arrive_expect(64) == Fault::none);
  CHECK(!b.completed());
  CHECK(b.arrive(1) == Fault::over_arrival);
  CHECK(b.complete(32) == Fault::none);
  CHECK(b.tx() == 32);
  CHECK(b.complete(32) == Fault::none);
  CHECK(b.completed());
  CHECK(b.phase() == 1);
  CHECK(b.passes(0));
  CHECK(b.balanced());
  CHECK(b.inval() == Fault::none);
  CHECK(b.inval() == Fault::not_live);
}

TEST_CASE("bytes may land before they are expected, while the arrival that expects them is pending", "[machine]") {
  MbarrierState b;
  REQUIRE(b.init(1) == Fault::none);
  CHECK(b.complete(128) == Fault::none);
  CHECK(b.tx() == -128);
  CHECK(!b.completed());
  CHECK(b.arrive_expect(128) == Fault::none);
  CHECK(b.completed());
  CHECK(b.expect(MbarrierState::limit + 1) == Fault::tx_range);
  CHECK(b.complete(MbarrierState::limit) == Fault::none);
  CHECK(b.complete(1) == Fault::tx_range);
}
TEST_CASE("mbarrier state: bytes are expected before the last arrival, or while others are owed", "[machine]") {
  MbarrierState b;
  REQUIRE(b.init(1) == Fault::none);
  CHECK(b.expect(64) == Fault::none);
  CHECK(b.arrive_expect(64) == Fault::none);
  CHECK(b.expect(32) == Fault::none);
  CHECK(b.complete(160) == Fault::none);
  CHECK(b.phase() == 1);
  CHECK(b.complete(64) == Fault::none);
  CHECK(b.arrive(1) == Fault::none);
  CHECK(!b.completed());
  CHECK(b.expect(64) == Fault::late_expect);
}

TEST_CASE("arrive_drop lowers the later phases, added arrivals only this one", "[machine]") {
  MbarrierState b;
  REQUIRE(b.init(3) == Fault::none);
  CHECK(b.add_pending() == Fault::none);
  CHECK(b.arrive(3) == Fault::none);
  CHECK(b.arrive_drop() == Fault::none);
  CHECK(b.phase() == 1);
  CHECK(b.pending() == 2);
}

TEST_CASE("a lane's release covers its own accesses and the ones that its warp synchronised", "[machine]") {
  SlotTable slots;
  WarpClocks warp;
  warp.reset(slots.make());
  for (int i = 0; i < 5; ++i) warp.tick();
  Clock one;
  warp.release(lane(3), one, slots);
  CHECK(one.at(Plane::order, warp.slot()) == 0);
  REQUIRE(warp.lane_slot(3) != no_slot);
  CHECK(one.at(Plane::order, warp.lane_slot(3)) == 5);

  warp.tick();
  warp.synchronise(all_lanes, slots);
  warp.tick();
  Clock after;
  warp.release(lane(3), after, slots);
  CHECK(after.at(Plane::order, warp.slot()) == 6);
  CHECK(after.at(Plane::order, warp.lane_slot(3)) == 7);
}

TEST_CASE("a warp barrier passes the knowledge of one lane to the others", "[machine]") {
  SlotTable slots;
  WarpClocks warp;
  warp.reset(slots.make());
  Slot const other = slots.make();
  warp.tick();
  warp.acquire(lane(0), other, 9);
  CHECK(warp.class_count() == 2);
  CHECK(warp.class_of(0).clock.at(Plane::order, other) == 9);
  CHECK(warp.class_of(1).clock.at(Plane::order, other) == 0);
  warp.synchronise(all_lanes, slots);
  CHECK(warp.class_count() == 1);
  CHECK(warp.class_of(31).clock.at(Plane::order, other) == 9);
}

TEST_CASE("a proxy fence covers earlier accesses of the lanes that executed it", "[machine]") {
  SlotTable slots;
  WarpClocks warp;
  warp.reset(slots.make());
  warp.tick();
  warp.fence(lane(0), Plane::shared_async, {});
  warp.tick();
  warp.synchronise(all_lanes, slots);
  Clock clock;
  warp.release(all_lanes, clock, slots);
  CHECK(clock.at(Plane::shared_async, warp.slot()) == 0);  // lanes 1 to 31 did not fence
  CHECK(clock.at(Plane::shared_async, warp.lane_slot(0)) == 1);
  CHECK(clock.at(Plane::global_async, warp.lane_slot(0)) == 0);
}

TEST_CASE("shadow memory keeps the last write and the reads of every byte", "[machine]") {
  // Against an array of bytes, on random accesses over two page borders.
  constexpr std::uint64_t size = 3 * ShadowSpace::page_bytes;
  ShadowSpace shadow;
  ReadLists reads;
  shadow.reset(no_access);
  reads.reset();
  std::vector<AccessRef> last(size, no_access);
  std::vector<std::vector<AccessRef>> readers(size);
  std::uint64_t state = 1;
  auto const draw = [&](std::uint64_t bound) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % bound;
  };
  auto const never = [](AccessRef) { return false; };
  for (std::uint32_t i = 1; i <= 400; ++i) {
    std::uint64_t const begin = draw(size);
    std::uint64_t const end = std::min(size, begin + 1 + draw(draw(4) == 0 ? 6000 : 40));
    AccessRef const ref = make_ref(i, every_lane);
    bool const write = draw(2) == 0;
    if (write)
      shadow.overwrite(begin, end, ref);
    else
      shadow.visit(begin, end, [&](Segment& s, std::uint64_t) { s.reads = reads.add(s.reads, ref, never); });
    for (std::uint64_t b = begin; b < end; ++b) {
      if (write) {
        last[b] = ref;
        readers[b].clear();
      } else {
        readers[b].push_back(ref);
      }
    }
  }
  std::uint64_t seen = 0;
  std::uint64_t wrong = 0;
  shadow.visit(0, size, [&](Segment& s, std::uint64_t base) {
    std::vector<AccessRef> list;
    for (ReadList i = s.reads; i != 0; i = reads.node(i).next) list.push_back(reads.node(i).ref);
    std::sort(list.begin(), list.end());
    for (std::uint64_t b = base + s.begin; b < base + s.end; ++b) {
      std::vector<AccessRef> expected = readers[b];
      std::sort(expected.begin(), expected.end());
      if (last[b] != s.write || expected != list) ++wrong;
      ++seen;
    }
  });
  CHECK(seen == size);
  CHECK(wrong == 0);
}

TEST_CASE("the text of a schedule reads back equal", "[machine]") {
  for (char const* text :
       {"seed:7", "latest", "latest:3", "earliest", "earliest:0", "starve:3", "choices:0,2,1", "choices:", "timed"}) {
    CHECK(to_text(parse_schedule(text)) == text);
  }
  for (char const* text :
       {"", "seed", "seed:", "seed:x", "starve", "choices:1,", "choices:a", "late", "seed:1 ", "timed:1"}) {
    CHECK_THROWS_AS(parse_schedule(text), tegula::UserError);
  }
  CHECK_THROWS_WITH(parse_schedule("sed:3"), ContainsSubstring("seed:N, latest"));
}

TEST_CASE("a report names both accesses, the missing op and the schedule", "[machine]") {
  Simulation simulation({.shared_bytes = 4096}, [](Machine& m) {
    m.name(0, 0, 128, "%x");
    for (int k = 0; k < 2; ++k) {
      m.add_warp(0, [](Warp w) -> Task {
        ActionSite const store{"kernels/x.cpp", 12, 40, "buffer_store"};
        ActionSite const load{"kernels/x.cpp", 14, 44, "buffer_load"};
        if (w.number() == 0)
          w.write(all_lanes, PerLane(w.shared(), 0, 4), store);
        else
          w.read(all_lanes, PerLane(w.shared(), 0, 4), load);
        co_return;
      });
    }
  });
  Outcome const outcome = simulation.run(Schedule::latest());
  REQUIRE(outcome.reports.size() == 1);
  CHECK(outcome.text() ==
        "race (read after write): nothing orders the buffer_store at x.cpp:12 (ir 40) before the buffer_load at "
        "x.cpp:14 (ir "
        "44); add a barrier between them, or an mbarrier arrive after the first and a wait before the second\n"
        "  earlier: write %x+0x0..0x4 by warp 0 lane 0 (generic proxy), buffer_store at x.cpp:12 (ir 40)\n"
        "  later:   read %x+0x0..0x4 by warp 1 lane 0 (generic proxy), buffer_load at x.cpp:14 (ir 44)\n"
        "  schedule latest, step 2");
}
