// Tests the hazard catalogue, second part: loops and phases, counts, clusters, descriptors, lanes. The number in a name
// is the catalogue's row.
#include "unit/sim/machine_hazards.hpp"

namespace {

using namespace tegula::test;

Turn init(Warp w, MbarrierAddress barrier, std::int64_t count) {
  return w.mbarrier_init(leader, barrier, count, at("mbarrier_init"));
}

/// Runs a warp that loads and a warp that reads, one ring of two stages, three fills per tile, two tiles.
struct Loop {
  bool parity_of_tile = false;    // 17: parity from the inner loop's index
  bool fewer_reads = false;       // 18: the consumer makes one trip less
  bool no_release_fence = false;  // 29
  bool no_warp_sync = false;      // one lane signals for all
  std::uint32_t expected = kib;   // 24
  int release_count = 1;          // 24: count of the empty barriers' init
};

void ring_loop(Machine& m, Loop loop) {
  Space const in = add_input(m);
  auto const full = [](int s) { return MbarrierAddress{0, static_cast<std::uint32_t>(s) * 16}; };
  auto const empty = [](int s) { return MbarrierAddress{0, static_cast<std::uint32_t>(s) * 16 + 8}; };
  m.add_warp(0, [=](Warp w) -> Task {
    for (int s = 0; s < 2; ++s) {
      co_await init(w, full(s), 1);
      co_await init(w, empty(s), loop.release_count);
    }
    w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
    co_await w.barrier(0, 0, all_lanes, at("barrier"));
    for (int i = 0; i < 6; ++i) {
      int const s = i % 2;
      co_await w.wait_parity(leader, empty(s), static_cast<std::uint32_t>(i / 2 & 1) ^ 1u, at("mbarrier_wait"));
      co_await w.arrive_expect_tx(leader, full(s), loop.expected, at("arrive_expect_tx"));
      co_await w.copy_in(leader, load_1k(w, in, kib + static_cast<std::uint64_t>(s) * kib, full(s)), at("tma_load"));
    }
  });
  m.add_warp(0, [=](Warp w) -> Task {
    co_await w.barrier(0, 0, all_lanes, at("barrier"));
    int i = 0;
    for (int tile = 0; tile < 2; ++tile) {
      int const trips = loop.fewer_reads && tile == 1 ? 2 : 3;
      for (int k = 0; k < trips; ++k, ++i) {
        int const s = i % 2;
        int const use = loop.parity_of_tile ? k / 2 : i / 2;
        co_await w.wait_parity(all_lanes, full(s), static_cast<std::uint32_t>(use & 1), at("mbarrier_wait"));
        w.read(all_lanes, PerLane(w.shared(), kib + static_cast<std::uint64_t>(s) * kib, 32), at("buffer_load"));
        if (!loop.no_release_fence) w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
        if (!loop.no_warp_sync) w.warp_sync(all_lanes, at("warp_sync"));
        co_await w.arrive(leader, empty(s), 1, at("arrive"));
      }
    }
  });
}

}  // namespace

TEST_CASE("hazard 17: parity from the index of the inner loop", "[machine]") {
  check_pair({.kind = ReportKind::phase_error,
              .sentence = "the parity must flip",
              .build = [](Machine& m, bool planted) { ring_loop(m, {.parity_of_tile = planted}); }});
}

TEST_CASE("hazard 18: producer and consumer make different numbers of trips", "[machine]") {
  check_pair({.kind = ReportKind::open_at_exit,
              .sentence = "no thread waits for phase 2",
              .build = [](Machine& m, bool planted) { ring_loop(m, {.fewer_reads = planted}); }});
}

TEST_CASE("hazard 18: a stage filled by ordinary stores while its barrier expects bytes", "[machine]") {
  check_pair({.kind = ReportKind::wrong_byte_count,
              .sentence = "1024 expected bytes never arrived",
              .build = [](Machine& m, bool planted) {
                m.add_warp(0, [=](Warp w) -> Task {
                  co_await init(w, full_barrier, 1);
                  w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                  w.write(all_lanes, PerLane(w.shared(), kib, 32), at("buffer_store"));
                  w.warp_sync(all_lanes, at("warp_sync"));
                  co_await w.barrier(0, 0, all_lanes, at("barrier"));
                  if (planted)
                    co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
                  else
                    co_await w.arrive(leader, full_barrier, 1, at("arrive"));
                });
                m.add_warp(0, [=](Warp w) -> Task {
                  co_await w.barrier(0, 0, all_lanes, at("barrier"));
                  co_await w.wait_parity(all_lanes, full_barrier, 0, at("mbarrier_wait"));
                  w.read(all_lanes, PerLane(w.shared(), kib, 32), at("buffer_load"));
                });
              }});
}

TEST_CASE("hazard 20: a read and the next iteration's write, without a barrier on the back edge", "[machine]") {
  check_pair({.kind = ReportKind::race_war,
              .sentence = "nothing orders the buffer_load",
              .build = [](Machine& m, bool planted) {
                for (int k = 0; k < 2; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    std::uint64_t const mine = static_cast<std::uint64_t>(w.number()) * 512;
                    for (int i = 0; i < 3; ++i) {
                      w.write(all_lanes, PerLane(w.shared(), mine, 16), at("buffer_store"));
                      co_await w.barrier(0, 0, all_lanes, at("barrier"));
                      w.read(all_lanes, PerLane(w.shared(), 512 - mine, 16), at("buffer_load"));
                      if (!planted) co_await w.barrier(0, 0, all_lanes, at("barrier"));
                    }
                  });
                }
              }});
}

TEST_CASE("hazard 21: a prefetch into a buffer that the same iteration still writes", "[machine]") {
  check_pair({.kind = ReportKind::race_waw, .sentence = "tma_load at", .build = [](Machine& m, bool planted) {
                Space const in = add_input(m);
                m.add_warp(0, [=](Warp w) -> Task {
                  co_await init(w, full_barrier, 1);
                  w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                  co_await w.barrier(0, 0, all_lanes, at("barrier"));
                  co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
                  co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
                  for (std::uint32_t i = 0; i < 2; ++i) {
                    co_await w.wait_parity(all_lanes, full_barrier, i, at("mbarrier_wait"));
                    w.read(all_lanes, PerLane(w.shared(), kib, 32), at("buffer_load"));
                    std::uint64_t const scratch = planted ? kib : 2 * kib;
                    if (planted && i == 0) {
                      w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
                      w.warp_sync(all_lanes, at("warp_sync"));
                      co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
                      co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
                    }
                    w.write(all_lanes, PerLane(w.shared(), scratch, 32), at("buffer_store"));
                    if (!planted && i == 0) {
                      w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
                      w.warp_sync(all_lanes, at("warp_sync"));
                      co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
                      co_await w.copy_in(leader, load_1k(w, in, kib, full_barrier), at("tma_load"));
                    }
                  }
                });
              }});
}

TEST_CASE("hazard 22: a barrier of a number of threads that is not whole warps", "[machine]") {
  check_pair({.kind = ReportKind::barrier_misuse, .sentence = "multiple of 32", .build = [](Machine& m, bool planted) {
                for (int k = 0; k < 4; ++k) {
                  m.add_warp(
                      0, [=](Warp w) -> Task { co_await w.barrier(1, planted ? 100 : 128, all_lanes, at("barrier")); });
                }
              }});
}

TEST_CASE("hazard 24: bytes and arrivals counted wrongly", "[machine]") {
  SECTION("too few bytes expected") {
    check_pair({.kind = ReportKind::wrong_byte_count,
                .sentence = "expect_tx must be the sum",
                .build = [](Machine& m, bool planted) { ring_loop(m, {.expected = planted ? 512u : 1024u}); }});
  }
  SECTION("too many bytes expected") {
    check_pair({.kind = ReportKind::wrong_byte_count,
                .sentence = "1024 expected bytes never arrived",
                .build = [](Machine& m, bool planted) { ring_loop(m, {.expected = planted ? 2048u : 1024u}); }});
  }
  SECTION("more arrivals counted than executed") {
    check_pair({.kind = ReportKind::deadlock,
                .sentence = "1 of 2 arrivals are missing",
                .build = [](Machine& m, bool planted) { ring_loop(m, {.release_count = planted ? 2 : 1}); }});
  }
  SECTION("more arrivals executed than counted") {
    check_pair(
        {.kind = ReportKind::phase_error, .sentence = "32 lanes arrive at once", .build = [](Machine& m, bool planted) {
           m.add_warp(0, [=](Warp w) -> Task {
             co_await init(w, full_barrier, 1);
             w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
             w.warp_sync(all_lanes, at("warp_sync"));
             co_await w.arrive(planted ? all_lanes : leader, full_barrier, 1, at("arrive"));
             co_await w.wait_parity(all_lanes, full_barrier, 0, at("mbarrier_wait"));
           });
         }});
  }
}

TEST_CASE("hazard 26: the epilogue overwrites shared memory with cp.async pending", "[machine]") {
  check_pair(
      {.kind = ReportKind::race_waw, .sentence = "add cp.async.wait_group", .build = [](Machine& m, bool planted) {
         Space const in = add_input(m);
         m.add_warp(0, [=](Warp w) -> Task {
           co_await w.cp_async(all_lanes, {.source = PerLane(in, 0, 16), .destination = PerLane(w.shared(), 0, 16)},
                               at("cp_async"));
           w.cp_async_commit(all_lanes, at("cp_async_commit"));
           if (!planted) co_await w.cp_async_wait(all_lanes, 0, at("cp_async_wait"));
           w.write(all_lanes, PerLane(w.shared(), 0, 16), at("buffer_store"));
         });
       }});
}

namespace {

/// Stores four tiles through a ring of two staging buffers; the store that must have read its source is `pending`
/// groups back. `early`: the buffer just stored is the one refilled (one buffer), though the wait leaves one group
/// open.
void store_ring(Machine& m, std::uint64_t buffers, int pending) {
  Space const out = add_output(m);
  for (int k = 0; k < 2; ++k) {
    m.add_warp(0, [=](Warp w) -> Task {
      for (std::uint64_t i = 0; i < 4; ++i) {
        if (w.number() == 0) co_await w.bulk_wait(leader, pending, true, at("bulk_wait_read"));
        co_await w.barrier(0, 0, all_lanes, at("barrier"));
        std::uint64_t const base = i % buffers * kib;
        w.write(all_lanes, PerLane(w.shared(), base + static_cast<std::uint64_t>(w.number()) * 512, 16),
                at("buffer_store"));
        w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
        co_await w.barrier(0, 0, all_lanes, at("barrier"));
        if (w.number() != 0) continue;
        co_await w.copy_out(leader, store_1k(w, base, out, i * kib), at("tma_store"));
        w.bulk_commit(leader, at("bulk_commit"));
      }
      if (w.number() == 0) co_await w.bulk_wait(leader, 0, false, at("bulk_wait"));
    });
  }
}

}  // namespace

TEST_CASE("hazard 28: the wait of a store ring leaves the refilled buffer's store open", "[machine]") {
  check_pair({.kind = ReportKind::race_war,
              .sentence = "may still read its source",
              .build = [](Machine& m, bool planted) { store_ring(m, planted ? 1 : 2, 1); }});
}

TEST_CASE("hazard 28: the wait is in a thread that did not issue the store", "[machine]") {
  check_pair(
      {.kind = ReportKind::race_war, .sentence = "by the thread that issued it", .build = [](Machine& m, bool planted) {
         Space const out = add_output(m);
         m.add_warp(0, [=](Warp w) -> Task {
           w.write(all_lanes, PerLane(w.shared(), 0, 32), at("buffer_store"));
           w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
           w.warp_sync(all_lanes, at("warp_sync"));
           co_await w.copy_out(leader, store_1k(w, 0, out, 0), at("tma_store"));
           w.bulk_commit(leader, at("bulk_commit"));
           co_await w.bulk_wait(planted ? lane(1) : leader, 0, true, at("bulk_wait_read"));
           w.warp_sync(all_lanes, at("warp_sync"));
           w.write(all_lanes, PerLane(w.shared(), 0, 32), at("buffer_store"));
           co_await w.bulk_wait(leader, 0, false, at("bulk_wait"));
         });
       }});
}

TEST_CASE("hazard 29: ordinary reads and the copy that overwrites, without a proxy fence", "[machine]") {
  check_pair({.kind = ReportKind::missing_proxy_fence,
              .sentence = "add fence.proxy.async after the read",
              .build = [](Machine& m, bool planted) { ring_loop(m, {.no_release_fence = planted}); }});
}

TEST_CASE("one lane signals for the reads of its warp without a warp barrier", "[machine]") {
  check_pair({.kind = ReportKind::race_war,
              .sentence = "add bar.warp.sync before the one-lane arrive",
              .build = [](Machine& m, bool planted) { ring_loop(m, {.no_warp_sync = planted}); }});
}

TEST_CASE("hazard 31: a CTA barrier in an elected region", "[machine]") {
  check_pair({.kind = ReportKind::barrier_misuse,
              .sentence = "move it out of the elected region",
              .build = [](Machine& m, bool planted) {
                for (int k = 0; k < 2; ++k) {
                  m.add_warp(0, [=](Warp w) -> Task {
                    co_await w.barrier(0, 0, planted ? leader : all_lanes, at("barrier"));
                  });
                }
              }});
}

// --- descriptors
// ------------------------------------------------------------------------------------------------------

namespace {

enum class Map { no_acquire, acquire, edited_in_flight, edited_after };

void descriptor(Machine& m, Map variant) {
  Space const in = add_input(m);
  Space const maps = m.add_buffer({.name = "%maps", .bytes = 128});
  m.add_warp(0, [=](Warp w) -> Task {
    co_await init(w, full_barrier, 1);
    w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
    if (variant != Map::no_acquire) w.acquire_tensor_map(leader, Footprint(maps, 0, 128), at("acquire_tensor_map"));
    co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
    CopyIn copy = load_1k(w, in, kib, full_barrier);
    copy.tensor_map = Footprint(maps, 0, 128);
    co_await w.copy_in(leader, copy, at("tma_load"));
    if (variant == Map::edited_in_flight) w.write(leader, Footprint(maps, 0, 8), at("tensormap_replace"));
    co_await w.wait_parity(leader, full_barrier, 0, at("mbarrier_wait"));
    if (variant == Map::edited_after) w.write(leader, Footprint(maps, 0, 8), at("tensormap_replace"));
  });
}

}  // namespace

TEST_CASE("hazard 9: a tensor map in global memory without an acquire", "[machine]") {
  check_pair({.kind = ReportKind::descriptor,
              .sentence = "add fence.proxy.tensormap acquire before its first use",
              .build = [](Machine& m, bool planted) { descriptor(m, planted ? Map::no_acquire : Map::acquire); }});
}

namespace {

enum class Built { released, not_released, released_too_early, released_by_another };

/// Warp 0 writes a tensor map, and warp 1 copies through it.
void built_descriptor(Machine& m, Built variant) {
  Space const in = add_input(m);
  Space const maps = m.add_buffer({.name = "%maps", .bytes = 128, .initialised = false});
  m.add_warp(0, [=](Warp w) -> Task {
    if (variant == Built::released_too_early) w.release_tensor_maps(leader, at("release_tensor_maps"));
    w.write(leader, Footprint(maps, 0, 128), at("build_tensor_map"));
    if (variant == Built::released) w.release_tensor_maps(leader, at("release_tensor_maps"));
    w.warp_sync(all_lanes, at("warp_barrier"));
    co_await w.barrier(0, 0, all_lanes, at("barrier"));
  });
  m.add_warp(0, [=](Warp w) -> Task {
    co_await init(w, full_barrier, 1);
    w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
    if (variant == Built::released_by_another) w.release_tensor_maps(leader, at("release_tensor_maps"));
    co_await w.barrier(0, 0, all_lanes, at("barrier"));
    w.acquire_tensor_map(leader, Footprint(maps, 0, 128), at("acquire_tensor_map"));
    co_await w.arrive_expect_tx(leader, full_barrier, kib, at("arrive_expect_tx"));
    CopyIn copy = load_1k(w, in, kib, full_barrier);
    copy.tensor_map = Footprint(maps, 0, 128);
    co_await w.copy_in(leader, copy, at("tma_load"));
    co_await w.wait_parity(leader, full_barrier, 0, at("mbarrier_wait"));
  });
}

template <Built wrong>
void check_built_descriptor() {
  check_pair({.kind = ReportKind::descriptor,
              .sentence = "add fence.proxy.tensormap release in the thread that wrote it",
              .build = [](Machine& m, bool planted) { built_descriptor(m, planted ? wrong : Built::released); }});
}

}  // namespace

TEST_CASE("a tensor map written by a thread that does not release it after the write", "[machine][D7]") {
  check_built_descriptor<Built::not_released>();
  check_built_descriptor<Built::released_too_early>();
  check_built_descriptor<Built::released_by_another>();
}

TEST_CASE("hazard 27: a tensor map edited while a copy uses it", "[machine]") {
  check_pair({.kind = ReportKind::race_war, .sentence = "add the mbarrier wait", .build = [](Machine& m, bool planted) {
                descriptor(m, planted ? Map::edited_in_flight : Map::edited_after);
              }});
}

// --- clusters
// ---------------------------------------------------------------------------------------------------------

namespace {

struct Pair {
  bool barrier_after_init = true;
  bool peer_expects = true;
  bool barrier_before_exit = true;
  Scope scope = Scope::cluster;
};

/// Runs two CTAs of one warp each. CTA 0 multicasts to both; CTA 1 releases its copy on a barrier of CTA 0.
void cluster_pair(Machine& m, Pair pair) {
  Space const in = add_input(m);
  for (int cta = 0; cta < 2; ++cta) {
    m.add_warp(cta, [=](Warp w) -> Task {
      MbarrierAddress const full{cta, 0};
      MbarrierAddress const empty{0, 8};
      co_await init(w, full, 1);
      if (cta == 0) co_await init(w, empty, 2);
      w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
      if (pair.barrier_after_init) {
        co_await w.cluster_arrive(all_lanes, at("cluster_arrive"));
        co_await w.cluster_wait(all_lanes, at("cluster_wait"));
      } else {
        w.warp_sync(all_lanes, at("warp_sync"));
      }
      if (cta == 0 || pair.peer_expects) co_await w.arrive_expect_tx(leader, full, kib, at("arrive_expect_tx"));
      if (cta == 0) {
        CopyIn copy = load_1k(w, in, kib, full);
        copy.multicast = 3;
        co_await w.copy_in(leader, copy, at("tma_load"));
      }
      co_await w.wait_parity(all_lanes, full, 0, at("mbarrier_wait"));
      w.read(all_lanes, PerLane(w.shared(), kib, 32), at("buffer_load"));
      w.warp_sync(all_lanes, at("warp_sync"));
      co_await w.arrive(leader, empty, 1, at("arrive"), pair.scope);
      if (pair.barrier_before_exit) {
        co_await w.cluster_arrive(all_lanes, at("cluster_arrive"));
        co_await w.cluster_wait(all_lanes, at("cluster_wait"));
      }
      if (cta == 0) co_await w.wait_parity(all_lanes, empty, 0, at("mbarrier_wait"), pair.scope);
    });
  }
}

constexpr Options two_ctas{.ctas = 2, .cluster = 2, .shared_bytes = 8192};

}  // namespace

TEST_CASE("hazard 15: multicast into a CTA whose barrier may not be initialised", "[machine]") {
  check_pair({.kind = ReportKind::use_before_init,
              .sentence = "cluster",
              .options = two_ctas,
              .build = [](Machine& m, bool planted) { cluster_pair(m, {.barrier_after_init = !planted}); }});
}

TEST_CASE("hazard 15: a CTA that receives a multicast expects no bytes", "[machine]") {
  check_pair({.kind = ReportKind::deadlock,
              .sentence = "add the arrive.expect_tx",
              .options = two_ctas,
              .build = [](Machine& m, bool planted) { cluster_pair(m, {.peer_expects = !planted}); }});
}

TEST_CASE("hazard 15: a CTA ends while its peer may still write to it", "[machine]") {
  check_pair({.kind = ReportKind::peer_lifetime,
              .sentence = "may end before this use",
              .options = two_ctas,
              .build = [](Machine& m, bool planted) {
                Space const in = add_input(m);
                for (int cta = 0; cta < 2; ++cta) {
                  m.add_warp(cta, [=](Warp w) -> Task {
                    co_await init(w, {cta, 0}, 1);
                    w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                    co_await w.cluster_arrive(all_lanes, at("cluster_arrive"));
                    co_await w.cluster_wait(all_lanes, at("cluster_wait"));
                    if (cta == 0) co_await w.arrive(leader, {1, 0}, 1, at("arrive"), Scope::cluster);
                    if (planted) co_return;
                    co_await w.cluster_arrive(all_lanes, at("cluster_arrive"));
                    co_await w.cluster_wait(all_lanes, at("cluster_wait"));
                  });
                }
                (void)in;
              }});
}

TEST_CASE("hazard 25: an arrive on another CTA's barrier with .cta scope", "[machine]") {
  check_pair(
      {.kind = ReportKind::wrong_scope,
       .sentence = ".release.cluster",
       .options = two_ctas,
       .build = [](Machine& m, bool planted) { cluster_pair(m, {.scope = planted ? Scope::cta : Scope::cluster}); }});
}

TEST_CASE("hazard 32: a wait on another CTA's barrier", "[machine]") {
  check_pair({.kind = ReportKind::misuse,
              .sentence = "wait on one of its own CTA",
              .options = two_ctas,
              .build = [](Machine& m, bool planted) {
                for (int cta = 0; cta < 2; ++cta) {
                  m.add_warp(cta, [=](Warp w) -> Task {
                    co_await init(w, {cta, 0}, 1);
                    w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
                    co_await w.cluster_arrive(all_lanes, at("cluster_arrive"));
                    co_await w.cluster_wait(all_lanes, at("cluster_wait"));
                    co_await w.arrive(leader, {cta, 0}, 1, at("arrive"));
                    co_await w.wait_parity(all_lanes, {planted ? 0 : cta, 0}, 0, at("mbarrier_wait"), Scope::cluster);
                    co_await w.cluster_arrive(all_lanes, at("cluster_arrive"));
                    co_await w.cluster_wait(all_lanes, at("cluster_wait"));
                  });
                }
              }});
}
