// Virtual time in the machine: units that warps share, waits that take the time of their completion.
#include <algorithm>
#include <vector>

#include "sim/machine/explore.hpp"
#include "sim/machine/time.hpp"
#include "sim/machine/warp.hpp"
#include "support/catch.hpp"
#include "support/random.hpp"

using namespace tegula;
using namespace tegula::sim::machine;

namespace {

constexpr CostModel costs{.clocks_per_ns = 1,
                          .copy_latency = 100,
                          .store_latency = 10,
                          .peer_latency = 50,
                          .product_latency = 5,
                          .barrier_latency = 7,
                          .mbarrier_latency = 3,
                          .shared_bytes_per_clock = 128,
                          .global_bytes_per_clock = 64};

sim::machine::Options timed(int ctas = 1) {
  sim::machine::Options options;
  options.ctas = ctas;
  options.shared_bytes = 4096;
  options.costs = &costs;
  return options;
}

ActionSite const site = ActionSite::at("test");

}  // namespace

TEST_CASE("a unit takes the first gap that is long enough", "[machine][profile]") {
  Unit unit;
  CHECK(unit.take(10, 5) == 15);
  CHECK(unit.take(0, 4) == 4);
  CHECK(unit.take(0, 8) == 23);  // 4..10 is too short
  CHECK(unit.take(3, 6) == 10);
  CHECK(unit.take(12, 1) == 24);
  CHECK(unit.take(100, 0) == 100);

  SECTION("whatever the order, no two requests overlap") {
    test::Random random(test::data_seed);
    Unit busy;
    std::vector<std::pair<Time, Time>> all;
    for (int i = 0; i < 500; ++i) {
      auto const from = static_cast<Time>(random.below(3000)), clocks = static_cast<Time>(1 + random.below(20));
      Time const end = busy.take(from, clocks);
      CHECK(end >= from + clocks);
      all.emplace_back(end - clocks, end);
    }
    std::ranges::sort(all);
    for (std::size_t i = 1; i < all.size(); ++i) CHECK(all[i].first >= all[i - 1].second);
  }
}

TEST_CASE("a wait takes the later of the warp's clock and the copy's end, in every schedule", "[machine][profile]") {
  for (Schedule const& schedule : {Schedule::timed(), Schedule::latest(), Schedule::earliest(), Schedule::seed(3)}) {
    for (Time const busy : {0, 1000}) {
      Time start = 0, end = 0;
      Simulation simulation(timed(), [&](Machine& m) {
        Space const global = m.add_buffer({.name = "x", .bytes = 4096});
        m.add_warp(0, [&, global](Warp w) -> Task {
          co_await w.mbarrier_init(lane(0), {0, 0}, 1, site);
          w.fence_mbarrier_init(lane(0), site);
          co_await w.barrier(0, 0, all_lanes, site);
          start = w.now();
          co_await w.arrive_expect_tx(lane(0), {0, 0}, 1024, site);
          CopyIn copy;
          copy.source = Footprint(global, 0, 1024);
          copy.destination = Footprint(w.shared(), 1024, 2048);
          copy.mbarrier = {0, 0};
          copy.bytes = 1024;
          co_await w.copy_in(lane(0), copy, site);
          w.spend(busy);
          co_await w.wait_parity(all_lanes, {0, 0}, 0, site);
          end = w.now();
        });
      });
      Outcome const outcome = simulation.run(schedule);
      INFO(to_text(schedule) << ": " << outcome.text());
      CHECK(outcome.clean());
      CHECK(end - start == std::max<Time>(busy, 1024 / 64 + 100 + 3));
      CHECK(outcome.end_time == end);
    }
  }
}

TEST_CASE("warps leave a barrier together, after the last arrival", "[machine][profile]") {
  std::vector<Time> left(4);
  Simulation simulation(timed(), [&](Machine& m) {
    for (int i = 0; i < 4; ++i)
      m.add_warp(0, [&, i](Warp w) -> Task {
        w.spend(static_cast<Time>(100 * i));
        co_await w.barrier(0, 0, all_lanes, site);
        left[static_cast<std::size_t>(i)] = w.now();
      });
  });
  for (std::uint64_t seed = 1; seed < 6; ++seed) {
    CHECK(simulation.run(Schedule::seed(seed)).clean());
    CHECK(left == std::vector<Time>(4, 307));
  }
}

TEST_CASE("products of one quarter follow each other, and a wait ends with the last of its groups",
          "[machine][profile]") {
  std::vector<Time> first(8), last(8);
  Simulation simulation(timed(), [&](Machine& m) {
    for (int i = 0; i < 8; ++i)
      m.add_warp(0, [&, i](Warp w) -> Task {
        w.wgmma_fence(site);
        for (int k = 0; k < 2; ++k) {
          Wgmma product;
          product.accumulators = Footprint(w.registers(), 0, 64);
          product.clocks = 128;
          product.accumulate = k > 0;
          product.shape = 1;
          co_await w.wgmma(product, site);
          w.wgmma_commit(site);
        }
        co_await w.wgmma_wait(1, site);
        first[static_cast<std::size_t>(i)] = w.now();
        co_await w.wgmma_wait(0, site);
        last[static_cast<std::size_t>(i)] = w.now();
      });
  });
  for (Schedule const& schedule : {Schedule::timed(), Schedule::latest(), Schedule::seed(5)}) {
    CHECK(simulation.run(schedule).clean());
    for (std::size_t quarter = 0; quarter < 4; ++quarter) {
      CHECK(std::min(first[quarter], first[quarter + 4]) == 128 + 5);
      CHECK(std::max(last[quarter], last[quarter + 4]) == 4 * 128 + 5);
    }
  }
}

TEST_CASE("a cluster that waits for a free multiprocessor begins when one ends", "[machine][profile]") {
  std::vector<Time> begins(3);
  sim::machine::Options options = timed(3);
  options.resident = 2;
  Simulation simulation(options, [&](Machine& m) {
    for (int i = 0; i < 3; ++i)
      m.add_warp(i, [&, i](Warp w) -> Task {
        begins[static_cast<std::size_t>(i)] = w.now();
        w.spend(i == 0 ? 500 : 300);
        co_await w.barrier(0, 0, all_lanes, site);
      });
  });
  CHECK(simulation.run(Schedule::timed()).clean());
  CHECK(begins == std::vector<Time>{0, 0, 307});
}
