// Tests the ring of stages between a producer warp and consumer warps, in both schemes.

#include <fmt/format.h>

#include "support/count_allocations.hpp"
#include "unit/sim/machine_support.hpp"

namespace {

using namespace tegula::test;

/// Runs a ring of `stages`, `fills` acquisitions, `consumers` warps that read by ordinary loads.
struct Ring {
  int stages = 2;
  int fills = 3;
  int consumers = 2;
  bool consumers_arrive_first =
      false;  // the other scheme: empty barriers are pre-arrived, the producer waits parity u & 1

  static constexpr std::uint32_t stage_bytes = 128;
  Cells cells = {};
  std::vector<int> global = {}, stage = {}, seen = {};
  Space source = 0;

  MbarrierAddress full(int s) const { return {0, static_cast<std::uint32_t>(s) * 8}; }
  MbarrierAddress empty(int s) const { return {0, static_cast<std::uint32_t>(stages + s) * 8}; }
  std::uint64_t place(int s) const { return 1024 + static_cast<std::uint64_t>(s) * stage_bytes; }

  void build(Machine& m) {
    cells.reset();
    global.clear();
    for (int i = 0; i < fills; ++i) global.push_back(100 + i);
    stage.assign(static_cast<std::size_t>(stages), 7);
    seen.clear();
    source = m.add_buffer(
        {.name = "source", .bytes = static_cast<std::uint64_t>(fills) * stage_bytes + 16, .read_only = true});
    for (int s = 0; s < stages; ++s) {
      m.name(0, place(s), place(s) + stage_bytes, fmt::format("%ring[{}]", s));
      m.name(0, full(s).offset, full(s).offset + 8, fmt::format("%full[{}]", s));
      m.name(0, empty(s).offset, empty(s).offset + 8, fmt::format("%empty[{}]", s));
    }
    m.add_warp(0, [this](Warp w) { return producer(w); });
    for (int c = 0; c < consumers; ++c) m.add_warp(0, [this](Warp w) { return consumer(w); });
  }

  Task producer(Warp w) {
    for (int s = 0; s < stages; ++s) {
      co_await w.mbarrier_init(leader, full(s), 1, at("mbarrier_init"));
      co_await w.mbarrier_init(leader, empty(s), consumers, at("mbarrier_init"));
    }
    w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
    co_await w.barrier(0, 0, all_lanes, at("barrier"));
    for (int i = 0; i < fills; ++i) {
      int const s = i % stages;
      int const u = i / stages;
      std::uint32_t const parity = static_cast<std::uint32_t>(u & 1) ^ (consumers_arrive_first ? 0u : 1u);
      co_await w.wait_parity(leader, empty(s), parity, at("mbarrier_wait"));
      co_await w.arrive_expect_tx(leader, full(s), stage_bytes, at("arrive_expect_tx"));
      co_await w.copy_in(
          leader,
          {.source = Footprint(source, static_cast<std::uint64_t>(i) * stage_bytes,
                               static_cast<std::uint64_t>(i + 1) * stage_bytes),
           .destination = Footprint(w.shared(), place(s), place(s) + stage_bytes),
           .mbarrier = full(s),
           .bytes = stage_bytes,
           .alignment = 128,
           .effect = cells.move(&stage[static_cast<std::size_t>(s)], &global[static_cast<std::size_t>(i)])},
          at("tma_load"));
    }
  }

  Task consumer(Warp w) {
    co_await w.barrier(0, 0, all_lanes, at("barrier"));
    if (consumers_arrive_first) {
      for (int s = 0; s < stages; ++s) co_await w.arrive(leader, empty(s), 1, at("arrive"));
    }
    for (int i = 0; i < fills; ++i) {
      int const s = i % stages;
      int const u = i / stages;
      co_await w.wait_parity(all_lanes, full(s), static_cast<std::uint32_t>(u & 1), at("mbarrier_wait"));
      w.read(all_lanes, PerLane(w.shared(), place(s), stage_bytes / 32), at("buffer_load"));
      seen.push_back(stage[static_cast<std::size_t>(s)] - 100 - i);
      w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
      w.warp_sync(all_lanes, at("warp_sync"));
      co_await w.arrive(leader, empty(s), 1, at("arrive"));
    }
  }
};

/// Checks the drain of the pre-arrival scheme. Every empty mbarrier ends with one open phase of `consumers` arrivals
/// only if it is not refilled. So the drain is part of the protocol: after the loop no arrival is left.
Simulation simulate(Ring& ring) {
  return Simulation({.shared_bytes = 8192}, [&ring](Machine& m) { ring.build(m); });
}

}  // namespace

TEST_CASE("the ring is silent and moves every value, for each depth, trip count and scheme", "[machine]") {
  for (bool arrive_first : {false, true}) {
    for (int stages = 1; stages <= 5; ++stages) {
      for (int fills : {0, 1, stages - 1, stages, stages + 1, 2 * stages + 1}) {
        Ring ring{.stages = stages, .fills = fills, .consumers_arrive_first = arrive_first};
        Simulation simulation = simulate(ring);
        Sweep const sweep = simulation.sweep(40);
        INFO("stages " << stages << ", fills " << fills << ", arrive first " << arrive_first << "\n" << sweep.text());
        REQUIRE(sweep.clean());
        REQUIRE(ring.seen == std::vector<int>(static_cast<std::size_t>(2 * fills), 0));
      }
    }
  }
}

TEST_CASE("the cost of a run grows with its length only", "[machine]") {
  struct Cost {
    std::uint64_t steps;
    Allocations made;
  };
  auto const cost = [](int fills) {
    Ring ring{.stages = 3, .fills = fills};
    Simulation simulation = simulate(ring);
    Outcome outcome;
    Allocations const made = allocations_of([&] { outcome = simulation.run(Schedule::seed(1)); });
    CHECK(outcome.clean());
    return Cost{outcome.steps, made};
  };
  Cost const once = cost(5000), four_times = cost(20000);
  INFO(once.steps << " and " << four_times.steps << " steps, " << once.made.count << " and " << four_times.made.count
                  << " allocations, " << once.made.bytes << " and " << four_times.made.bytes << " bytes");
  CHECK(four_times.steps < 5 * once.steps);  // sixteen times would be quadratic
  CHECK(four_times.made.count < 5 * once.made.count);
  CHECK(four_times.made.bytes < 5 * once.made.bytes);
}
