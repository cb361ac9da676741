// Tests the hazard catalogue, first part: asynchronous copies, wgmma, proxies. The number in a name is the catalogue's
// row.
#include "unit/sim/machine_hazards.hpp"

namespace {

using namespace tegula::test;

/// Runs a ring of one stage: warp 0 loads twice, four warps multiply. `early_release`: arrive before the wait.
void wgmma_ring(Machine& m, bool early_release) {
  Space const in = add_input(m);
  for (int k = 0; k < 4; ++k) {
    m.add_warp(0, [=](Warp w) -> Task {
      bool const producer = w.number() == 0;
      if (producer) {
        co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
        co_await w.mbarrier_init(leader, empty_barrier, 4, at("mbarrier_init"));
        w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
      }
      co_await w.barrier(0, 0, all_lanes, at("barrier"));
      for (std::uint32_t i = 0; i < 2; ++i) {
        if (producer) {
          co_await w.wait_parity(leader, empty_barrier, i ^ 1u, at("mbarrier_wait"));
          co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
          co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
        }
        co_await w.wait_parity(all_lanes, full_barrier, i, at("mbarrier_wait"));
        w.wgmma_fence(at("wgmma_fence"));
        Footprint const operand[] = {Footprint(w.shared(), kib, 2 * kib)};
        co_await w.wgmma({.shared = operand, .accumulators = Footprint(w.registers(), 0, 64), .accumulate = i != 0},
                         at("wgmma"));
        w.wgmma_commit(at("wgmma_commit"));
        if (early_release) co_await w.arrive(leader, empty_barrier, 1, at("arrive"));
        co_await w.wgmma_wait(0, at("wgmma_wait"));
        if (!early_release) co_await w.arrive(leader, empty_barrier, 1, at("arrive"));
      }
    });
  }
}

}  // namespace

TEST_CASE("hazard 1: a stage released before the wait that covers its wgmma", "[machine]") {
  check_pair({.kind = ReportKind::race_war,
              .sentence = "waited for the wgmma at",
              .build = [](Machine& m, bool planted) { wgmma_ring(m, planted); }});
}

TEST_CASE("hazard 2: no barrier after the init of an mbarrier", "[machine]") {
  check_pair({.kind = ReportKind::use_before_init, .sentence = "add", .build = [](Machine& m, bool planted) {
                Space const in = add_input(m);
                m.add_warp(0, [=](Warp w) -> Task {
                  co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
                  w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                  if (!planted) co_await w.barrier(0, 0, all_lanes, at("barrier"));
                  co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
                  co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
                });
                m.add_warp(0, [=](Warp w) -> Task {
                  if (!planted) co_await w.barrier(0, 0, all_lanes, at("barrier"));
                  co_await w.wait_parity(all_lanes, full_barrier, 0, at("mbarrier_wait"));
                });
              }});
}

namespace {

enum class Fence { none, issuer, writers };

void staged_store(Machine& m, Fence fence) {
  Space const out = add_output(m);
  for (int k = 0; k < 2; ++k) {
    m.add_warp(0, [=](Warp w) -> Task {
      w.write(all_lanes, PerLane(w.shared(), static_cast<std::uint64_t>(w.number()) * 512, 16), at("buffer_store"));
      if (fence == Fence::writers) w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
      co_await w.barrier(0, 0, all_lanes, at("barrier"));
      if (w.number() != 0) co_return;
      if (fence == Fence::issuer) w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
      co_await w.copy_out(leader, store_1k(w, 0, out, 0), at("tma_store"));
      w.bulk_commit(leader, at("bulk_commit"));
      co_await w.bulk_wait(leader, 0, false, at("bulk_wait"));
    });
  }
}

}  // namespace

TEST_CASE("hazard 3: no proxy fence between stores to shared memory and a TMA store", "[machine]") {
  check_pair({.kind = ReportKind::missing_proxy_fence,
              .sentence = "add fence.proxy.async after the write",
              .build = [](Machine& m, bool planted) { staged_store(m, planted ? Fence::none : Fence::writers); }});
}

TEST_CASE("hazard 3: the proxy fence is in the thread that issues the TMA store", "[machine]") {
  check_pair({.kind = ReportKind::missing_proxy_fence,
              .sentence = "by the thread that issued it",
              .build = [](Machine& m, bool planted) { staged_store(m, planted ? Fence::issuer : Fence::writers); }});
}

TEST_CASE("hazards 4, 10 and 11: buffers, stages and box starts off their alignment", "[machine]") {
  static std::uint64_t to = 0;
  static std::uint64_t from = 0;
  Hazard hazard{.kind = ReportKind::misaligned,
                .sentence = "is not aligned to 1024 bytes",
                .build = [](Machine& m, bool planted) {
                  Space const in = add_input(m);
                  m.add_warp(0, [=](Warp w) -> Task {
                    co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
                    w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                    co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
                    CopyIn copy = load_1k(w, in, planted ? to : 2 * kib, full_barrier);
                    copy.alignment = 1024;
                    if (planted) copy.source = Footprint(in, from, from + kib);
                    co_await w.copy_in(leader, copy, at("tma_load"));
                    co_await w.wait_parity(leader, full_barrier, 0, at("mbarrier_wait"));
                  });
                }};
  to = 128;  // 128-byte alignment is not enough under the 128-byte swizzle
  check_pair(hazard);
  to = kib + (kib + 128);  // the second stage of a ring whose stage size was not rounded up
  check_pair(hazard);
  to = 2 * kib;
  from = 8;  // the box starts in the middle of 16 bytes
  hazard.sentence = "is not aligned to 16 bytes";
  check_pair(hazard);
}

TEST_CASE("hazard 5: the barrier of the whole CTA inside a specialised branch", "[machine]") {
  check_pair({.kind = ReportKind::deadlock,
              .sentence = "use a named barrier with the number of threads that do",
              .build = [](Machine& m, bool planted) {
                for (int k = 0; k < 3; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    if (w.number() == 0) co_return;  // the producer
                    w.write(all_lanes, PerLane(w.shared(), static_cast<std::uint64_t>(w.number()) * 128, 4),
                            at("buffer_store"));
                    co_await w.barrier(planted ? 0 : 1, planted ? 0 : 64, all_lanes, at("barrier"));
                    w.read(all_lanes, PerLane(w.shared(), static_cast<std::uint64_t>(3 - w.number()) * 128, 4),
                           at("buffer_load"));
                  });
                }
              }});
}

TEST_CASE("hazard 6: a barrier does not wait for cp.async", "[machine]") {
  check_pair(
      {.kind = ReportKind::race_raw, .sentence = "add cp.async.wait_group", .build = [](Machine& m, bool planted) {
         Space const in = add_input(m);
         for (int k = 0; k < 2; ++k) {
           m.add_warp(0, [=](Warp w) -> Task {
             std::uint64_t const mine = static_cast<std::uint64_t>(w.number()) * 512;
             co_await w.cp_async(all_lanes,
                                 {.source = PerLane(in, mine, 16), .destination = PerLane(w.shared(), mine, 16)},
                                 at("cp_async"));
             w.cp_async_commit(all_lanes, at("cp_async_commit"));
             if (!planted) co_await w.cp_async_wait(all_lanes, 0, at("cp_async_wait"));
             co_await w.barrier(0, 0, all_lanes, at("barrier"));
             w.read(all_lanes, PerLane(w.shared(), 512 - mine, 16), at("buffer_load"));
             if (planted) co_await w.cp_async_wait(all_lanes, 0, at("cp_async_wait"));
           });
         }
       }});
}

TEST_CASE("hazard 7: the bytes of an mbarrier reused without inval", "[machine]") {
  check_pair({.kind = ReportKind::dead_barrier,
              .sentence = "add mbarrier.inval and a barrier",
              .build = [](Machine& m, bool planted) {
                for (int k = 0; k < 2; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    if (w.number() == 0) {
                      co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
                      w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                    }
                    co_await w.barrier(0, 0, all_lanes, at("barrier"));
                    if (w.number() == 0) co_await w.arrive(leader, full_barrier, 1, at("arrive"));
                    co_await w.wait_parity(all_lanes, full_barrier, 0, at("mbarrier_wait"));
                    co_await w.barrier(0, 0, all_lanes, at("barrier"));
                    if (w.number() == 0 && !planted)
                      co_await w.mbarrier_inval(leader, full_barrier, at("mbarrier_inval"));
                    co_await w.barrier(0, 0, all_lanes, at("barrier"));
                    if (w.number() == 1) w.write(all_lanes, PerLane(w.shared(), 0, 4), at("buffer_store"));
                  });
                }
              }});
}

TEST_CASE("hazard 8: two names of one buffer, one of them without a barrier", "[machine]") {
  check_pair(
      {.kind = ReportKind::race_raw, .sentence = "add a barrier between them", .build = [](Machine& m, bool planted) {
         m.name(0, 0, 512, "%x");
         m.name(0, 256, 768, "%captured");
         m.add_warp(0, [=](Warp w) -> Task {
           w.write(all_lanes, PerLane(w.shared(), 0, 16), at("buffer_store"));
           w.write(all_lanes, PerLane(w.shared(), 512, 8), at("buffer_store"));
           if (!planted) co_await w.barrier(0, 0, all_lanes, at("barrier"));
           co_return;
         });
         m.add_warp(0, [=](Warp w) -> Task {
           if (!planted) co_await w.barrier(0, 0, all_lanes, at("barrier"));
           w.read(all_lanes, PerLane(w.shared(), 256, 16), at("buffer_load"));
         });
       }});
}

namespace {

/// Runs warps 0..3 of a warpgroup: A from registers, twice. `early`: the registers are redefined while the group is
/// open.
void register_operand(Machine& m, bool early) {
  for (int k = 0; k < 4; ++k) {
    m.add_warp(0, [=](Warp w) -> Task {
      w.write(all_lanes, PerLane(w.shared(), static_cast<std::uint64_t>(w.number()) * kib, 32), at("buffer_store"));
      w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
      co_await w.barrier(0, 0, all_lanes, at("barrier"));
      for (int i = 0; i < 2; ++i) {
        w.write_registers(256, 272, at("cast"));
        w.wgmma_fence(at("wgmma_fence"));
        Footprint const operand[] = {Footprint(w.shared(), 0, 4 * kib)};
        co_await w.wgmma({.shared = operand,
                          .a_registers = Footprint(w.registers(), 256, 272),
                          .accumulators = Footprint(w.registers(), 0, 64),
                          .accumulate = i != 0},
                         at("wgmma"));
        w.wgmma_commit(at("wgmma_commit"));
        co_await w.wgmma_wait(early ? 1 : 0, at("wgmma_wait"));
      }
      co_await w.wgmma_wait(0, at("wgmma_wait"));
      w.read_registers(0, 64, at("cast"));
    });
  }
}

}  // namespace

TEST_CASE("hazard 12: registers of a wgmma redefined while it may read them", "[machine]") {
  check_pair({.kind = ReportKind::race_war,
              .sentence = "keep the operands alive until then",
              .build = [](Machine& m, bool planted) { register_operand(m, planted); }});
}

TEST_CASE("hazard 12: a wgmma of another shape accumulates without a fence", "[machine]") {
  check_pair({.kind = ReportKind::missing_wgmma_fence,
              .sentence = "add wgmma.fence before the first wgmma that uses them",
              .build = [](Machine& m, bool planted) {
                for (int k = 0; k < 4; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    w.wgmma_fence(at("wgmma_fence"));
                    for (std::uint32_t shape : {1U, 1U, 2U}) {
                      if (shape == 2 && !planted) w.wgmma_fence(at("wgmma_fence"));
                      co_await w.wgmma(
                          {.accumulators = Footprint(w.registers(), 0, 64), .accumulate = false, .shape = shape},
                          at("wgmma"));
                      w.wgmma_commit(at("wgmma_commit"));
                      co_await w.wgmma_wait(0, at("wgmma_wait"));
                    }
                  });
                }
              }});
}

TEST_CASE("hazard 13: setmaxnreg.inc while a warpgroup does not release registers", "[machine]") {
  check_pair({.kind = ReportKind::deadlock,
              .sentence = "every other warpgroup must execute its setmaxnreg.dec",
              .options = {.registers = 168},
              .build = [](Machine& m, bool planted) {
                for (int k = 0; k < 12; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    if (w.number() >= 4)
                      co_await w.set_max_registers(true, 240, at("set_max_registers"));
                    else if (!planted)
                      co_await w.set_max_registers(false, 24, at("set_max_registers"));
                  });
                }
              }});
}

TEST_CASE("hazard 14: one warpgroup waits in place of the others", "[machine]") {
  check_pair({.kind = ReportKind::race_war,
              .sentence = "nothing orders that wait before the tma_load",
              .build = [](Machine& m, bool planted) {
                Space const in = add_input(m);
                for (int k = 0; k < 8; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    if (w.number() == 0) {
                      co_await w.mbarrier_init(leader, full_barrier, 1, at("mbarrier_init"));
                      w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                      co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
                      co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
                    }
                    co_await w.barrier(0, 0, all_lanes, at("barrier"));
                    co_await w.wait_parity(all_lanes, full_barrier, 0, at("mbarrier_wait"));
                    w.wgmma_fence(at("wgmma_fence"));
                    Footprint const operand[] = {Footprint(w.shared(), kib, 2 * kib)};
                    co_await w.wgmma(
                        {.shared = operand, .accumulators = Footprint(w.registers(), 0, 64), .accumulate = false},
                        at("wgmma"));
                    w.wgmma_commit(at("wgmma_commit"));
                    co_await w.wgmma_wait(0, at("wgmma_wait"));
                    int const group = w.number() / 4;
                    if (planted)
                      co_await w.barrier(1 + group, 128, all_lanes, at("barrier"));  // one warpgroup only
                    else
                      co_await w.barrier(0, 0, all_lanes, at("barrier"));
                    if (w.number() != 0) co_return;
                    co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
                    co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
                    co_await w.wait_parity(all_lanes, full_barrier, 1, at("mbarrier_wait"));
                  });
                }
              }});
}

namespace {

/// Rewrites a buffer by ordinary stores while wgmma reads it: `buffers` of them, `open` groups in flight.
void rewritten_operand(Machine& m, std::uint64_t buffers, int open) {
  for (int k = 0; k < 4; ++k) {
    m.add_warp(0, [=](Warp w) -> Task {
      for (std::uint64_t i = 0; i < 3; ++i) {
        std::uint64_t const base = i % buffers * 4 * kib;
        w.write(all_lanes, PerLane(w.shared(), base + static_cast<std::uint64_t>(w.number()) * kib, 32),
                at("buffer_store"));
        w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
        co_await w.barrier(0, 0, all_lanes, at("barrier"));
        w.wgmma_fence(at("wgmma_fence"));
        Footprint const operand[] = {Footprint(w.shared(), base, base + 4 * kib)};
        co_await w.wgmma({.shared = operand, .accumulators = Footprint(w.registers(), 0, 64), .accumulate = i != 0},
                         at("wgmma"));
        w.wgmma_commit(at("wgmma_commit"));
        co_await w.wgmma_wait(open, at("wgmma_wait"));
        co_await w.barrier(0, 0, all_lanes, at("barrier"));
      }
      co_await w.wgmma_wait(0, at("wgmma_wait"));
    });
  }
}

}  // namespace

TEST_CASE("hazard 16: one buffer, one wgmma group in flight", "[machine]") {
  check_pair({.kind = ReportKind::race_war,
              .sentence = "add wgmma.wait_group that covers it",
              .build = [](Machine& m, bool planted) { rewritten_operand(m, planted ? 1 : 2, 1); }});
}

TEST_CASE("hazard 19: no proxy fence between stores to shared memory and wgmma", "[machine]") {
  check_pair(
      {.kind = ReportKind::missing_proxy_fence, .sentence = "and the wgmma at", .build = [](Machine& m, bool planted) {
         for (int k = 0; k < 4; ++k) {
           m.add_warp(0, [=](Warp w) -> Task {
             w.write(all_lanes, PerLane(w.shared(), static_cast<std::uint64_t>(w.number()) * kib, 32),
                     at("buffer_store"));
             if (!planted) w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
             co_await w.barrier(0, 0, all_lanes, at("barrier"));
             w.wgmma_fence(at("wgmma_fence"));
             Footprint const operand[] = {Footprint(w.shared(), 0, 4 * kib)};
             co_await w.wgmma({.shared = operand, .accumulators = Footprint(w.registers(), 0, 64), .accumulate = false},
                              at("wgmma"));
             w.wgmma_commit(at("wgmma_commit"));
             co_await w.wgmma_wait(0, at("wgmma_wait"));
           });
         }
       }});
}
