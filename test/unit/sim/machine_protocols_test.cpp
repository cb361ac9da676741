// Tests right protocols, and the ops that each needs: look-ahead without specialisation, turns by named barriers,
// hand-over of cp.async, flags between CTAs, dependent launch, lifetimes.
#include <algorithm>

#include "unit/sim/machine_hazards.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace tegula::test;

/// Lets the same warps fetch and compute: `depth` stages, fetched `ahead` iterations before use.
void look_ahead(Machine& m, int depth, int ahead, int trips) {
  Space const in = add_input(m);
  for (int k = 0; k < 2; ++k) {
    m.add_warp(0, [=](Warp w) -> Task {
      auto const full = [](int s) { return MbarrierAddress{0, static_cast<std::uint32_t>(s) * 8}; };
      auto const place = [](int s) { return (1 + static_cast<std::uint64_t>(s)) * kib; };
      bool const issues = w.number() == 0;
      if (issues) {
        for (int s = 0; s < depth; ++s) co_await w.mbarrier_init(leader, full(s), 1, at("mbarrier_init"));
        w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
      }
      co_await w.barrier(0, 0, all_lanes, at("barrier"));
      for (int i = 0; i < std::min(ahead, trips) && issues; ++i) {
        co_await w.arrive_expect_tx(leader, full(i), kib, at("arrive_expect_tx"));
        co_await w.copy_in(leader, load_1k(w, in, place(i), full(i)), at("tma_load"));
      }
      for (int i = 0; i < trips; ++i) {
        co_await w.wait_parity(all_lanes, full(i % depth), static_cast<std::uint32_t>(i / depth & 1),
                               at("mbarrier_wait"));
        w.read(all_lanes, PerLane(w.shared(), place(i % depth), 32), at("buffer_load"));
        w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
        co_await w.barrier(0, 0, all_lanes, at("barrier"));
        int const next = i + ahead;
        if (next >= trips || !issues) continue;
        co_await w.arrive_expect_tx(leader, full(next % depth), kib, at("arrive_expect_tx"));
        co_await w.copy_in(leader, load_1k(w, in, place(next % depth), full(next % depth)), at("tma_load"));
      }
    });
  }
}

}  // namespace

TEST_CASE("look-ahead without specialised warps is silent for every depth and trip count", "[machine]") {
  for (int depth = 1; depth <= 4; ++depth) {
    for (int ahead : {std::max(depth - 1, 1), depth}) {
      for (int trips : {0, 1, depth, depth + 1, 2 * depth + 1}) {
        Simulation simulation({.shared_bytes = 16384}, [=](Machine& m) { look_ahead(m, depth, ahead, trips); });
        Sweep const sweep = simulation.sweep(40);
        INFO("depth " << depth << ", ahead " << ahead << ", trips " << trips << "\n" << sweep.text());
        REQUIRE(sweep.clean());
      }
    }
  }
}

TEST_CASE("two warps take turns by pairs of named barriers", "[machine]") {
  Hazard const turns{.kind = ReportKind::race_war, .sentence = "nothing orders", .build = [](Machine& m, bool planted) {
                       for (int k = 0; k < 2; ++k) {
                         m.add_warp(0, [=](Warp w) -> Task {
                           int const mine = 1 + w.number();
                           int const other = 2 - w.number();
                           if (w.number() == 0) {
                             w.write(all_lanes, PerLane(w.shared(), 0, 4), at("buffer_store"));
                             co_await w.barrier_arrive(other, 64, all_lanes, at("barrier_arrive"));
                           }
                           for (int i = 0; i < 3; ++i) {
                             bool const last = w.number() == 0 && i == 2;
                             if (w.number() == 1 || !planted) co_await w.barrier(mine, 64, all_lanes, at("barrier"));
                             w.read(all_lanes, PerLane(w.shared(), 0, 4), at("buffer_load"));
                             w.write(all_lanes, PerLane(w.shared(), 0, 4), at("buffer_store"));
                             if (!last) co_await w.barrier_arrive(other, 64, all_lanes, at("barrier_arrive"));
                           }
                         });
                       }
                     }};
  Simulation repaired({.shared_bytes = 1024}, [&](Machine& m) { turns.build(m, false); });
  Sweep const sweep = repaired.sweep(schedules(200));
  INFO(sweep.text());
  CHECK(sweep.clean());
  Simulation planted({.shared_bytes = 1024}, [&](Machine& m) { turns.build(m, true); });
  CHECK(!planted.sweep(20).clean());
}

TEST_CASE("three warpgroups take turns round robin, and leave the last turn open", "[machine]") {
  // The accesses of a turn are ordered by the turns alone.
  Simulation simulation({.shared_bytes = 1024}, [](Machine& m) {
    constexpr int groups = 3;
    for (int k = 0; k < 4 * groups; ++k) {
      m.add_warp(0, [=](Warp w) -> Task {
        int const group = w.number() / 4;
        std::uint64_t const mine = static_cast<std::uint64_t>(w.number() % 4) * 128;
        if (group == 0) w.write(all_lanes, PerLane(w.shared(), mine, 4), at("buffer_store"));
        if (group == groups - 1) co_await w.barrier_arrive(1, 256, all_lanes, at("first_turn"));
        for (int i = 0; i < 4; ++i) {
          co_await w.barrier(1 + group, 256, all_lanes, at("barrier"));
          w.read(all_lanes, PerLane(w.shared(), mine, 4), at("buffer_load"));
          w.write(all_lanes, PerLane(w.shared(), mine, 4), at("buffer_store"));
          co_await w.barrier_arrive(1 + (group + 1) % groups, 256, all_lanes, at("barrier_arrive"));
        }
      });
    }
  });
  Sweep const sweep = simulation.sweep(100);
  INFO(sweep.text());
  CHECK(sweep.clean());
}

TEST_CASE("two groups may not use one barrier id at once", "[machine]") {
  check_pair({.kind = ReportKind::barrier_misuse,
              .sentence = "give each group its own id",
              .build = [](Machine& m, bool planted) {
                for (int k = 0; k < 4; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    int const group = w.number() / 2;
                    for (int i = 0; i < 2; ++i)
                      co_await w.barrier(planted ? 1 : 1 + group, 64, all_lanes, at("barrier"));
                  });
                }
              }});
}

TEST_CASE("cp.async handed over by an mbarrier: the consumers fence before the async proxy reads", "[machine]") {
  check_pair(
      {.kind = ReportKind::missing_proxy_fence, .sentence = "and the wgmma at", .build = [](Machine& m, bool planted) {
         Space const in = add_input(m);
         for (int k = 0; k < 8; ++k) {
           m.add_warp(0, [=](Warp w) -> Task {
             if (w.number() == 4) {
               co_await w.mbarrier_init(leader, full_barrier, 32, at("mbarrier_init"));
               w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
             }
             co_await w.barrier(0, 0, all_lanes, at("barrier"));
             if (w.number() > 4) co_return;
             if (w.number() == 4) {
               co_await w.cp_async(all_lanes,
                                   {.source = PerLane(in, 0, 16), .destination = PerLane(w.shared(), kib, 16)},
                                   at("cp_async"));
               co_await w.cp_async_arrive(all_lanes, full_barrier, true, at("cp_async_arrive"));
               co_return;
             }
             co_await w.wait_parity(all_lanes, full_barrier, 0, at("mbarrier_wait"));
             w.read(all_lanes, PerLane(w.shared(), kib, 16), at("buffer_load"));
             if (!planted) w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
             w.wgmma_fence(at("wgmma_fence"));
             Footprint const operand[] = {Footprint(w.shared(), kib, kib + 512)};
             co_await w.wgmma({.shared = operand, .accumulators = Footprint(w.registers(), 0, 64), .accumulate = false},
                              at("wgmma"));
             w.wgmma_commit(at("wgmma_commit"));
             co_await w.wgmma_wait(0, at("wgmma_wait"));
           });
         }
       }});
}

TEST_CASE("cp.async fills a ring: each full mbarrier speaks for its own copies, however they end", "[machine]") {
  check_pair({.kind = ReportKind::race_war, .sentence = "", .build = [](Machine& m, bool planted) {
                Space const in = add_input(m);
                auto const barrier = [](std::uint32_t number) { return MbarrierAddress{0, 64 + 8 * number}; };
                for (int k = 0; k < 2; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    if (w.number() == 0) {
                      for (std::uint32_t b = 0; b < 4; ++b)
                        co_await w.mbarrier_init(leader, barrier(b), b < 2 ? 32 : 1, at("mbarrier_init"));
                      w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                    }
                    co_await w.barrier(0, 0, all_lanes, at("barrier"));
                    for (std::uint32_t i = 0; i < 5; ++i) {
                      std::uint32_t const stage = i % 2, turn = i / 2;
                      PerLane const place(w.shared(), kib * (1 + stage), 16);
                      if (w.number() == 0) {
                        if (!planted || i < 2)
                          co_await w.wait_parity(all_lanes, barrier(2 + stage), (turn & 1) ^ 1u, at("mbarrier_wait"));
                        co_await w.cp_async(all_lanes, {.source = PerLane(in, 0, 16), .destination = place},
                                            at("cp_async"));
                        co_await w.cp_async_arrive(all_lanes, barrier(stage), true, at("cp_async_arrive"));
                        continue;
                      }
                      co_await w.wait_parity(all_lanes, barrier(stage), turn & 1, at("mbarrier_wait"));
                      w.read(all_lanes, place, at("buffer_load"));
                      w.warp_sync(all_lanes, at("warp_sync"));
                      co_await w.arrive(leader, barrier(2 + stage), 1, at("arrive"));
                    }
                  });
                }
              }});
}

namespace {

/// Lets warp 0 fill and warp 1 read; one lane waits, fences and releases for its warp as far as asked.
struct OneLane {
  bool sync_after_wait = true;
  Lanes fence = all_lanes;
};

void one_lane(Machine& m, OneLane variant) {
  Space const in = add_input(m);
  for (int k = 0; k < 2; ++k) {
    m.add_warp(0, [=](Warp w) -> Task {
      if (w.number() == 0) {
        co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
        co_await w.mbarrier_init(leader, empty_barrier, 1, at("mbarrier_init"));
        w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
      }
      co_await w.barrier(0, 0, all_lanes, at("barrier"));
      for (std::uint32_t i = 0; i < 3; ++i) {
        if (w.number() == 0) {
          co_await w.wait_parity(leader, empty_barrier, (i & 1) ^ 1u, at("mbarrier_wait"));
          co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
          co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
          continue;
        }
        co_await w.wait_parity(leader, full_barrier, i & 1, at("mbarrier_wait"));
        if (variant.sync_after_wait) w.warp_sync(all_lanes, at("warp_sync"));
        w.read(all_lanes, PerLane(w.shared(), kib, 32), at("buffer_load"));
        w.fence_proxy_async(variant.fence, FenceSpace::shared, at("fence_proxy_async"));
        w.warp_sync(all_lanes, at("warp_sync"));
        co_await w.arrive(leader, empty_barrier, 1, at("arrive"));
      }
    });
  }
}

}  // namespace

TEST_CASE("one lane waits for its warp: a warp barrier orders the others", "[machine]") {
  check_pair({.kind = ReportKind::race_raw, .sentence = "add the mbarrier wait", .build = [](Machine& m, bool planted) {
                one_lane(m, {.sync_after_wait = !planted});
              }});
}

TEST_CASE("one lane fences for its warp: the others' reads are not covered", "[machine]") {
  check_pair({.kind = ReportKind::missing_proxy_fence,
              .sentence = "by the thread that issued it",
              .build = [](Machine& m, bool planted) { one_lane(m, {.fence = planted ? leader : all_lanes}); }});
}

TEST_CASE("a flag between CTAs, then a copy by TMA, needs a proxy fence for global memory", "[machine]") {
  check_pair({.kind = ReportKind::missing_proxy_fence,
              .sentence = "add fence.proxy.async.global",
              .options = {.ctas = 2, .shared_bytes = 8192},
              .build = [](Machine& m, bool planted) {
                Space const data = m.add_buffer({.name = "%data", .bytes = 2 * kib, .initialised = false});
                static bool published = false;
                published = false;
                m.add_warp(0, [=](Warp w) -> Task {
                  w.write(all_lanes, PerLane(data, 0, 32), at("store"));
                  w.warp_sync(all_lanes, at("warp_sync"));
                  co_await w.atomic(leader, Footprint(data, kib, kib + 4), AtomicOrder::release, at("atomic"));
                  published = true;
                });
                m.add_warp(1, [=](Warp w) -> Task {
                  MbarrierAddress const full{1, 0};
                  co_await w.mbarrier_init(leader, full, 1, at("mbarrier_init"));
                  w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                  co_await w.wait_until([](void* flag, std::uint64_t) { return *static_cast<bool*>(flag); }, &published,
                                        0, at("poll"));
                  co_await w.atomic(leader, Footprint(data, kib, kib + 4), AtomicOrder::acquire, at("atomic"));
                  if (!planted) w.fence_proxy_async(leader, FenceSpace::global, at("fence_proxy_async"));
                  co_await w.arrive_expect_tx(leader, full, kib, at("arrive_expect_tx"));
                  co_await w.copy_in(leader, load_1k(w, data, kib, full), at("tma_load"));
                  co_await w.wait_parity(leader, full, 0, at("mbarrier_wait"));
                });
              }});
}

TEST_CASE("data of the preceding grid is read after griddepcontrol.wait", "[machine]") {
  check_pair({.kind = ReportKind::race_raw,
              .sentence = "add griddepcontrol.wait before",
              .build = [](Machine& m, bool planted) {
                Space const in = m.add_buffer({.name = "%in", .bytes = kib, .preceding = true});
                m.add_warp(0, [=](Warp w) -> Task {
                  co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
                  w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                  if (!planted) co_await w.dependencies_wait(all_lanes, at("dependencies_wait"));
                  co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
                  co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
                  co_await w.wait_parity(leader, full_barrier, 0, at("mbarrier_wait"));
                  co_await w.dependents_launch(all_lanes, at("dependents_launch"));
                });
              }});
}

TEST_CASE("a released stage is stale until it is written again", "[machine]") {
  check_pair(
      {.kind = ReportKind::stale, .sentence = "released and not written again", .build = [](Machine& m, bool planted) {
         m.add_warp(0, [=](Warp w) -> Task {
           w.write(all_lanes, PerLane(w.shared(), 0, 4), at("buffer_store"));
           w.give_up(all_lanes, PerLane(w.shared(), 0, 4), at("release"));
           if (!planted) w.write(all_lanes, PerLane(w.shared(), 0, 4), at("buffer_store"));
           w.read(all_lanes, PerLane(w.shared(), 0, 4), at("buffer_load"));
           co_return;
         });
       }});
}

TEST_CASE("a read of unwritten output is reported", "[machine]") {
  check_pair(
      {.kind = ReportKind::never_written, .sentence = "no access wrote %out", .build = [](Machine& m, bool planted) {
         Space const out = add_output(m);
         m.add_warp(0, [=](Warp w) -> Task {
           if (!planted) w.write(all_lanes, PerLane(out, 0, 4), at("store"));
           w.read(all_lanes, PerLane(out, 0, 4), at("load"));
           co_return;
         });
       }});
}

TEST_CASE("the bytes of an mbarrier are reused after inval and a barrier", "[machine]") {
  check_pair({.kind = ReportKind::dead_barrier, .sentence = "its inval", .build = [](Machine& m, bool planted) {
                for (int k = 0; k < 2; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    bool const owner = w.number() == 0;
                    for (int round = 0; round < (planted ? 1 : 2); ++round) {
                      if (owner) {
                        co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
                        w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                      }
                      co_await w.barrier(0, 0, all_lanes, at("barrier"));
                      if (owner) co_await w.arrive(leader, full_barrier, 1, at("arrive"));
                      if (!owner) co_await w.wait_parity(all_lanes, full_barrier, 0, at("mbarrier_wait"));
                      if (!planted) co_await w.barrier(0, 0, all_lanes, at("barrier"));
                      if (owner) co_await w.mbarrier_inval(leader, full_barrier, at("mbarrier_inval"));
                    }
                  });
                }
              }});
}

TEST_CASE("a copy may be issued before the arrive that expects its bytes", "[machine]") {
  Simulation simulation({.shared_bytes = 8192}, [](Machine& m) {
    Space const in = add_input(m);
    for (int k = 0; k < 2; ++k) {
      m.add_warp(0, [=](Warp w) -> Task {
        if (w.number() == 0) {
          co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
          w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
        }
        co_await w.barrier(0, 0, all_lanes, at("barrier"));
        if (w.number() == 0) {
          co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
          co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
        }
        co_await w.wait_parity(all_lanes, full_barrier, 0, at("mbarrier_wait"));
        w.read(all_lanes, PerLane(w.shared(), kib, 32), at("buffer_load"));
      });
    }
  });
  Sweep const sweep = simulation.exhaust(10000);
  INFO(sweep.text());
  CHECK(sweep.complete);
  CHECK(sweep.clean());
}

TEST_CASE("an accumulator is open while a later group on it is, after the older one's wait too", "[machine]") {
  check_pair(
      {.kind = ReportKind::race_raw, .sentence = "before a wait covers them", .build = [](Machine& m, bool planted) {
         for (int k = 0; k < 4; ++k) {
           m.add_warp(0, [=](Warp w) -> Task {
             w.write(all_lanes, PerLane(w.shared(), static_cast<std::uint64_t>(w.number()) * kib, 32),
                     at("buffer_store"));
             w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
             co_await w.barrier(0, 0, all_lanes, at("barrier"));
             w.wgmma_fence(at("wgmma_fence"));
             Footprint const operand[] = {Footprint(w.shared(), 0, 4 * kib)};
             for (std::uint64_t i = 0; i < 2; ++i) {
               std::uint64_t const to = planted ? 0 : i * 64;  // one accumulator, or two chains
               co_await w.wgmma(
                   {.shared = operand, .accumulators = Footprint(w.registers(), to, to + 64), .accumulate = false},
                   at("wgmma"));
               w.wgmma_commit(at("wgmma_commit"));
             }
             co_await w.wgmma_wait(1, at("wgmma_wait"));
             w.read_registers(0, 64, at("cast"));
             co_await w.wgmma_wait(0, at("wgmma_wait"));
             w.read_registers(0, planted ? 64 : 128, at("cast"));
           });
         }
       }});
}

TEST_CASE("operations that are open at the end are reported", "[machine]") {
  check_pair(
      {.kind = ReportKind::open_at_exit, .sentence = "add bulk wait_group 0", .build = [](Machine& m, bool planted) {
         Space const out = add_output(m);
         m.add_warp(0, [=](Warp w) -> Task {
           w.write(all_lanes, PerLane(w.shared(), 0, 32), at("buffer_store"));
           w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
           w.warp_sync(all_lanes, at("warp_sync"));
           co_await w.copy_out(leader, store_1k(w, 0, out, 0), at("tma_store"));
           w.bulk_commit(leader, at("bulk_commit"));
           if (!planted) co_await w.bulk_wait(leader, 0, true, at("bulk_wait_read"));  // the source is free: enough
         });
       }});
  check_pair({.kind = ReportKind::unbalanced_at_exit,
              .sentence = "is left in the middle of phase 0",
              .build = [](Machine& m, bool planted) {
                m.add_warp(0, [=](Warp w) -> Task {
                  co_await w.mbarrier_init(leader, full_barrier, 2, at("mbarrier_init"));
                  w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                  for (int i = 0; i < (planted ? 1 : 2); ++i) co_await w.arrive(leader, full_barrier, 1, at("arrive"));
                });
              }});
}

TEST_CASE("atomics do not race with each other, and do with plain accesses", "[machine]") {
  check_pair({.kind = ReportKind::race_raw,
              .sentence = "nothing orders the atomic",
              .options = {.ctas = 2, .shared_bytes = 1024},
              .build = [](Machine& m, bool planted) {
                Space const counter = m.add_buffer({.name = "%counter", .bytes = 64});
                for (int cta = 0; cta < 2; ++cta) {
                  m.add_warp(cta, [=](Warp w) -> Task {
                    co_await w.atomic(leader, Footprint(counter, 0, 4), AtomicOrder::relaxed, at("atomic"));
                    if (planted && w.cta() == 1) w.read(leader, Footprint(counter, 0, 4), at("load"));
                    co_await w.atomic(leader, Footprint(counter, 0, 4), AtomicOrder::relaxed, at("atomic"));
                  });
                }
              }});
}

TEST_CASE("TMA reductions into the same bytes do not race, stores do", "[machine]") {
  check_pair({.kind = ReportKind::race_waw,
              .sentence = "may still write its result",
              .options = {.ctas = 2, .shared_bytes = 8192},
              .build = [](Machine& m, bool planted) {
                Space const out = m.add_buffer({.name = "%out", .bytes = kib});
                for (int cta = 0; cta < 2; ++cta) {
                  m.add_warp(cta, [=](Warp w) -> Task {
                    w.write(all_lanes, PerLane(w.shared(), 0, 32), at("buffer_store"));
                    w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
                    w.warp_sync(all_lanes, at("warp_sync"));
                    CopyOut copy = store_1k(w, 0, out, 0);
                    copy.reduce = !planted;
                    co_await w.copy_out(leader, copy, at("tma_reduce"));
                    w.bulk_commit(leader, at("bulk_commit"));
                    co_await w.bulk_wait(leader, 0, true, at("bulk_wait_read"));
                  });
                }
              }});
}

TEST_CASE("a bulk copy into a peer's shared memory signals the peer's barrier", "[machine]") {
  check_pair({.kind = ReportKind::missing_proxy_fence,
              .sentence = "add fence.proxy.async after the write",
              .options = {.ctas = 2, .cluster = 2, .shared_bytes = 8192},
              .build = [](Machine& m, bool planted) {
                for (int cta = 0; cta < 2; ++cta) {
                  Space const peer = m.shared(1);
                  m.add_warp(cta, [=](Warp w) -> Task {
                    MbarrierAddress const full{1, 0};
                    if (cta == 1) {
                      co_await w.mbarrier_init(leader, full, 1, at("mbarrier_init"));
                      w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                    } else {
                      w.write(all_lanes, PerLane(w.shared(), kib, 32), at("buffer_store"));
                      if (!planted) w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
                    }
                    co_await w.cluster_arrive(all_lanes, at("cluster_arrive"));
                    co_await w.cluster_wait(all_lanes, at("cluster_wait"));
                    if (cta == 1) {
                      co_await w.arrive_expect_tx(leader, full, kib, at("arrive_expect_tx"));
                      co_await w.wait_parity(all_lanes, full, 0, at("mbarrier_wait"));
                      w.read(all_lanes, PerLane(w.shared(), 2 * kib, 32), at("buffer_load"));
                    } else {
                      CopyIn copy;
                      copy.source = Footprint(w.shared(), kib, 2 * kib);
                      copy.destination = Footprint(peer, 2 * kib, 3 * kib);
                      copy.mbarrier = full;
                      copy.bytes = kib;
                      co_await w.copy_in(leader, copy, at("bulk_copy"));
                    }
                    co_await w.cluster_arrive(all_lanes, at("cluster_arrive"));
                    co_await w.cluster_wait(all_lanes, at("cluster_wait"));
                  });
                }
              }});
}

namespace {

/// Runs many CTAs that each write a row of the output; the last one also writes the first row when asked to.
void rows(Machine& m, bool twice) {
  Space const out = add_output(m);
  for (int cta = 0; cta < m.options().ctas; ++cta) {
    m.add_warp(cta, [=, last = m.options().ctas - 1](Warp w) -> Task {
      w.write(all_lanes, PerLane(out, static_cast<std::uint64_t>(w.cta()) * 128, 4), at("store"));
      co_await w.barrier(0, 0, all_lanes, at("barrier"));
      if (twice && w.cta() == last) w.write(all_lanes, PerLane(out, 0, 4), at("store_again"));
    });
  }
}

}  // namespace

TEST_CASE("CTAs that never run at the same time still race in global memory", "[machine]") {
  check_pair({.kind = ReportKind::race_waw,
              .sentence = "nothing orders the store",
              .options = {.ctas = 12, .resident = 2, .shared_bytes = 1024},
              .build = rows});
}

TEST_CASE("a CTA that waits for one that has not started hangs, as it may on a full card", "[machine]") {
  auto const build = [](Machine& m) {
    static bool flag = false;
    flag = false;
    m.add_warp(0, [](Warp w) -> Task {
      co_await w.wait_until([](void* f, std::uint64_t) { return *static_cast<bool*>(f); }, &flag, 0, at("poll"));
    });
    m.add_warp(1, [](Warp w) -> Task {
      co_await w.atomic(leader, Footprint(w.shared(), 0, 4), AtomicOrder::relaxed, at("atomic"));
      flag = true;
    });
  };
  Simulation together({.ctas = 2, .shared_bytes = 1024}, build);
  CHECK(together.sweep(10).clean());
  Simulation apart({.ctas = 2, .resident = 1, .shared_bytes = 1024}, build);
  Sweep const sweep = apart.sweep(10);
  CHECK(sweep.has(ReportKind::deadlock));
  CHECK_THAT(sweep.text(), ContainsSubstring("polls for a value that no thread will write"));
}
