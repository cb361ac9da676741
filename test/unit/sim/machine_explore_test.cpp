// Schedules, replay, and all orders of small programs.
#include <fmt/format.h>

#include <set>

#include "tegula/support/error.hpp"
#include "unit/sim/machine_hazards.hpp"

namespace {

using namespace tegula::test;

/// Runs two warps with `steps` schedule points each on barriers of their own; `shared_barrier`: on one barrier.
void independent(Machine& m, int warps, int steps, bool shared_barrier) {
  for (int k = 0; k < warps; ++k) {
    m.add_warp(0, [=](Warp w) -> Task {
      MbarrierAddress const mine{0, shared_barrier ? 0u : static_cast<std::uint32_t>(w.number()) * 8};
      if (w.number() == 0 && shared_barrier) co_await w.mbarrier_init(leader, mine, steps * warps, at("mbarrier_init"));
      if (!shared_barrier) co_await w.mbarrier_init(leader, mine, steps, at("mbarrier_init"));
      w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
      if (shared_barrier) co_await w.barrier(0, 0, all_lanes, at("barrier"));
      for (int i = 0; i < steps; ++i) co_await w.arrive(leader, mine, 1, at("arrive"));
    });
  }
}

}  // namespace

TEST_CASE("the search of all orders does not try commuting transitions twice", "[machine]") {
  Simulation apart({.shared_bytes = 1024}, [](Machine& m) { independent(m, 3, 3, false); });
  Sweep const one = apart.exhaust(10000);
  CHECK(one.complete);
  CHECK(one.clean());
  CHECK(one.runs < 60);  // 3 warps of 5 steps have 756756 orders

  Simulation together({.shared_bytes = 1024}, [](Machine& m) { independent(m, 2, 3, true); });
  Sweep const all = together.exhaust(10000);
  CHECK(all.complete);
  CHECK(all.clean());
  CHECK(all.runs >= 20);  // the arrivals on one barrier interleave in (6 choose 3) ways
}

TEST_CASE("the search of all orders finds a fault that needs one certain order", "[machine]") {
  // Warp 1 reads early only if it passes before warp 0 has published: both orders exist, one is bad.
  auto const build = [](Machine& m) {
    static bool flag = false;
    flag = false;
    m.add_warp(0, [](Warp w) -> Task {
      co_await w.barrier_arrive(2, 64, all_lanes, at("barrier_arrive"));
      flag = true;
      co_await w.atomic(leader, Footprint(w.shared(), 512, 516), AtomicOrder::release, at("atomic"));
    });
    m.add_warp(0, [](Warp w) -> Task {
      co_await w.atomic(leader, Footprint(w.shared(), 512, 516), AtomicOrder::acquire, at("atomic"));
      bool const early = !flag;
      co_await w.barrier(2, 64, all_lanes, at("barrier"));
      if (early) w.read(all_lanes, PerLane(w.shared(), 0, 4), at("buffer_load"));
    });
  };
  Simulation simulation({.shared_bytes = 1024}, build);
  Sweep const sweep = simulation.exhaust(1000, false);
  CHECK(sweep.complete);
  CHECK(sweep.has(ReportKind::never_written));
  CHECK(sweep.bad_runs < sweep.runs);
  Outcome const again = simulation.run(parse_schedule(sweep.bad.front().schedule));
  CHECK(again.has(ReportKind::never_written));
}

TEST_CASE("the search of all orders reports nothing on a small ring, and reports one without its wait", "[machine]") {
  for (bool planted : {false, true}) {
    Simulation simulation({.shared_bytes = 8192}, [planted](Machine& m) {
      Space const in = add_input(m);
      m.add_warp(0, [=](Warp w) -> Task {
        co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
        co_await w.mbarrier_init(leader, empty_barrier, 1, at("mbarrier_init"));
        w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
        co_await w.barrier(0, 0, all_lanes, at("barrier"));
        for (std::uint32_t i = 0; i < 3; ++i) {
          if (!planted) co_await w.wait_parity(leader, empty_barrier, (i & 1) ^ 1u, at("mbarrier_wait"));
          co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
          co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
        }
      });
      m.add_warp(0, [=](Warp w) -> Task {
        co_await w.barrier(0, 0, all_lanes, at("barrier"));
        for (std::uint32_t i = 0; i < 3; ++i) {
          co_await w.wait_parity(all_lanes, full_barrier, i & 1, at("mbarrier_wait"));
          w.read(all_lanes, PerLane(w.shared(), kib, 32), at("buffer_load"));
          w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
          w.warp_sync(all_lanes, at("warp_sync"));
          co_await w.arrive(leader, empty_barrier, 1, at("arrive"));
        }
      });
    });
    Sweep const sweep = simulation.exhaust(20000, false);
    INFO(sweep.runs << " runs, " << sweep.text());
    CHECK(sweep.complete);
    CHECK(sweep.clean() == !planted);
    if (planted) CHECK(sweep.bad_runs == sweep.runs);
  }
}

TEST_CASE("a thread that the barrier does not wait for misses a phase when it is starved", "[machine]") {
  // Warp 2 waits for each phase, but the release does not count it.
  Simulation simulation({.shared_bytes = 8192}, [](Machine& m) {
    for (int k = 0; k < 3; ++k) {
      m.add_warp(0, [=](Warp w) -> Task {
        if (w.number() == 0) {
          co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
          co_await w.mbarrier_init(leader, empty_barrier, 1, at("mbarrier_init"));
          w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
        }
        co_await w.barrier(0, 0, all_lanes, at("barrier"));
        for (std::uint32_t i = 0; i < 4; ++i) {
          if (w.number() == 0) {
            co_await w.wait_parity(leader, empty_barrier, (i & 1) ^ 1u, at("mbarrier_wait"));
            co_await w.arrive(leader, full_barrier, 1, at("arrive"));
            continue;
          }
          co_await w.wait_parity(leader, full_barrier, i & 1, at("mbarrier_wait"));
          if (w.number() == 1) co_await w.arrive(leader, empty_barrier, 1, at("arrive"));
        }
      });
    }
  });
  Outcome const starved = simulation.run(Schedule::starve(2));
  REQUIRE(starved.has(ReportKind::phase_error));
  CHECK_THAT(starved.reports.front().sentence, ContainsSubstring("the barrier does not wait for this thread"));
  CHECK(simulation.sweep(30, false).has(ReportKind::phase_error));
}

TEST_CASE("a run repeats exactly under its seed and under its choices", "[machine]") {
  Simulation simulation({.shared_bytes = 1024}, [](Machine& m) { independent(m, 4, 4, true); });
  std::set<std::vector<std::uint32_t>> different;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Outcome const once = simulation.run(Schedule::seed(seed));
    Outcome const twice = simulation.run(Schedule::seed(seed));
    CHECK(once.choices == twice.choices);
    CHECK(once.schedule == fmt::format("seed:{}", seed));
    CHECK(simulation.run(Schedule::explicit_choices(once.choices)).choices == once.choices);
    different.insert(once.choices);
  }
  CHECK(different.size() == 20);
  CHECK_THROWS_AS(simulation.run(parse_schedule("choices:99")), tegula::UserError);
}

TEST_CASE("a program may be a step function", "[machine]") {
  struct Stepper final : Program {
    explicit Stepper(Warp warp) : w(warp) {}
    bool step() override {
      switch (at_step++) {
        case 0:
          w.write(all_lanes, PerLane(w.shared(), static_cast<std::uint64_t>(w.number()) * 128, 4), at("buffer_store"));
          return true;
        case 1:
          (void)w.barrier(0, 0, all_lanes, at("barrier"));
          return true;
        case 2:
          w.read(all_lanes, PerLane(w.shared(), static_cast<std::uint64_t>(1 - w.number()) * 128, 4),
                 at("buffer_load"));
          return true;
        default:
          return false;
      }
    }
    Warp w;
    int at_step = 0;
  };
  Simulation simulation({.shared_bytes = 1024}, [](Machine& m) {
    for (int k = 0; k < 2; ++k) {
      m.add_warp(
          0, [](void*, Warp w) -> std::unique_ptr<Program> { return std::make_unique<Stepper>(w); }, nullptr);
    }
  });
  CHECK(simulation.sweep(20).clean());
}

TEST_CASE("an endless loop is reported as a livelock, with the limit", "[machine]") {
  Simulation simulation({.shared_bytes = 1024, .max_steps = 500}, [](Machine& m) {
    m.add_warp(0, [](Warp w) -> Task {
      co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
      while (!co_await w.test_parity(leader, full_barrier, 0, at("mbarrier_test"))) {
      }
    });
  });
  Outcome const outcome = simulation.run(Schedule::seed(1));
  REQUIRE(outcome.has(ReportKind::livelock));
  CHECK_THAT(outcome.text(), ContainsSubstring("does not end within 500 steps"));
}

TEST_CASE("a step that continues after a wait is an internal error", "[machine]") {
  Simulation simulation({.shared_bytes = 1024}, [](Machine& m) {
    for (int k = 0; k < 2; ++k) {
      m.add_warp(0, [](Warp w) -> Task {
        if (w.number() == 1) co_return;
        (void)w.barrier(0, 0, all_lanes, at("barrier"));  // not awaited
        w.warp_sync(all_lanes, at("warp_sync"));
      });
    }
  });
  CHECK_THROWS_AS(simulation.run(Schedule::latest()), tegula::InternalError);
}

TEST_CASE("a trace names every action and its warp", "[machine]") {
  Simulation simulation({.shared_bytes = 8192, .trace = true}, [](Machine& m) {
    Space const in = add_input(m);
    m.add_warp(0, [=](Warp w) -> Task {
      ActionSite const line{"k.cpp", 3, 0, "tma_load"};
      co_await w.mbarrier_init(leader, full_barrier, 1, {"k.cpp", 1, 0, "mbarrier_init"});
      w.fence_mbarrier_init(leader, {"k.cpp", 1, 0, "fence"});
      co_await w.arrive_expect_tx(leader, full_barrier, kib, {"k.cpp", 2, 0, "arrive_expect_tx"});
      co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), line);
      co_await w.wait_parity(leader, full_barrier, 0, {"k.cpp", 4, 0, "mbarrier_wait"});
    });
  });
  Outcome const outcome = simulation.run(Schedule::latest());
  CHECK(outcome.clean());
  CHECK(outcome.trace ==
        std::vector<std::string>{"1 warp 0: mbarrier_init at k.cpp:1", "2 warp 0: arrive_expect_tx at k.cpp:2",
                                 "3 warp 0: tma_load at k.cpp:3", "4 warp 0: mbarrier_wait at k.cpp:4, waits",
                                 "5 tma_load of warp 0 lane 0 at k.cpp:3: ends",
                                 "6 warp 0: mbarrier_wait at k.cpp:4, ends"});
}
