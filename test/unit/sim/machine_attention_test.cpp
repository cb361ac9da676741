// Tests forward attention as scheduled for speed, at tiny size. The next block's first product is issued beside this
// block's second, whose A operand stands in registers. K and V have rings of their own; Q and the tile's number are
// released at the last use. Silent as it stands, reported when any one of its synchronising ops is taken out.
#include <fmt/format.h>

#include <bitset>

#include "unit/sim/machine_support.hpp"
#include "support/sanitized.hpp"

namespace {

using namespace tegula::test;

enum Op {
  fence_init,
  cta_barrier,
  wait_q_empty,
  expect_q,
  wait_k_empty,
  expect_k,
  wait_v_empty,
  expect_v,
  wait_q,
  sync_q,
  release_q,
  wait_k,
  fence_s,
  commit_s,
  wait_s,
  release_k,
  wait_v,
  fence_o,
  commit_o,
  wait_o,
  release_v,
  store_wait_read,
  sync_buffer_free,
  proxy_fence,
  sync_written,
  store_commit,
  store_wait,
  op_count,
};

constexpr char const* names[] = {
    "fence.mbarrier_init",
    "CTA barrier",
    "wait q empty",
    "expect q",
    "wait k empty",
    "expect k",
    "wait v empty",
    "expect v",
    "wait q",
    "warp sync before release q",
    "release q",
    "wait k",
    "wgmma.fence of S",
    "wgmma.commit of S",
    "wgmma.wait of S",
    "release k",
    "wait v",
    "wgmma.fence of O",
    "wgmma.commit of O",
    "wgmma.wait of O",
    "release v",
    "bulk.wait.read 0",
    "warp sync: free",
    "fence.proxy.async",
    "warp sync: written",
    "bulk.commit",
    "bulk.wait 0",
};
static_assert(std::size(names) == op_count);

struct Attention {
  int blocks = 3;
  int tiles = 3;
  std::bitset<op_count> without = {};

  static constexpr int groups = 2, stages = 2;
  static constexpr std::uint64_t k_bytes = 4096, q_bytes = 4096, o_bytes = 1024;  // o: per warp
  Space source = 0, result = 0;

  // mbarriers: full and empty of Q per group, of K and V per stage
  static MbarrierAddress barrier(int kind, int i) { return {0, static_cast<std::uint32_t>(kind * 16 + i * 8)}; }
  enum Kind { q_full, q_empty, k_full, k_empty, v_full, v_empty };
  static constexpr std::uint64_t slot = 512;  // the tile's number, one word per group
  static std::uint64_t place_q(int g) { return 1024 + static_cast<std::uint64_t>(g) * q_bytes; }
  static std::uint64_t place_k(int s) { return 16384 + static_cast<std::uint64_t>(s) * k_bytes; }
  static std::uint64_t place_v(int s) { return 32768 + static_cast<std::uint64_t>(s) * k_bytes; }
  static std::uint64_t place_o(int warp) { return 49152 + static_cast<std::uint64_t>(warp) * o_bytes; }
  [[nodiscard]] bool has(Op op) const { return !without[op]; }

  void build(Machine& m) {
    source = m.add_buffer({.name = "%qkv", .bytes = 1 << 20, .read_only = true});
    result = m.add_buffer({.name = "%o", .bytes = 1 << 20, .initialised = false});
    constexpr char const* kinds[] = {"%q_full", "%q_empty", "%k_full", "%k_empty", "%v_full", "%v_empty"};
    for (int kind = 0; kind < 6; ++kind) {
      for (int i = 0; i < 2; ++i) {
        std::uint32_t const offset = barrier(kind, i).offset;
        m.name(0, offset, offset + 8u, fmt::format("{}[{}]", kinds[kind], i));
      }
    }
    m.add_warp(0, [this](Warp w) { return producer(w); });
    for (int i = 0; i < 3; ++i) m.add_warp(0, [this](Warp w) { return idle(w); });
    for (int i = 0; i < 4 * groups; ++i) m.add_warp(0, [this](Warp w) { return consumer(w); });
  }

  Turn load(Warp w, std::uint64_t to, std::uint64_t bytes, MbarrierAddress full, ActionSite site) const {
    CopyIn copy;
    copy.source = Footprint(source, 0, bytes);
    copy.destination = Footprint(w.shared(), to, to + bytes);
    copy.mbarrier = full;
    copy.bytes = static_cast<std::uint32_t>(bytes);
    copy.alignment = 1024;
    return w.copy_in(leader, copy, site);
  }

  Task idle(Warp w) {
    if (has(cta_barrier)) co_await w.barrier(0, 0, all_lanes, at("barrier"));
  }

  Task producer(Warp w) {
    for (int kind = 0; kind < 6; ++kind) {
      int const count = kind % 2 == 0 ? 1 : kind == q_empty ? 4 : 4 * groups;
      for (int i = 0; i < 2; ++i) co_await w.mbarrier_init(leader, barrier(kind, i), count, at("mbarrier_init"));
    }
    if (has(fence_init)) w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
    if (has(cta_barrier)) co_await w.barrier(0, 0, all_lanes, at("barrier"));
    int ik = 0;
    int iv = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      auto const tile_parity = static_cast<std::uint32_t>(tile & 1);
      for (int block = 0; block <= blocks; ++block) {  // K0 Q K1 V0 K2 V1 ... V: the order of use
        if (block < blocks) {
          int const s = ik % stages;
          if (has(wait_k_empty))
            co_await w.wait_parity(leader, barrier(k_empty, s), static_cast<std::uint32_t>(ik / stages & 1) ^ 1u,
                                   at("wait_k_empty"));
          if (has(expect_k)) co_await w.arrive_expect_tx(leader, barrier(k_full, s), k_bytes, at("expect_k"));
          co_await load(w, place_k(s), k_bytes, barrier(k_full, s), at("load_k"));
          ++ik;
        }
        for (int g = 0; g < groups && block == 0; ++g) {
          if (has(wait_q_empty))
            co_await w.wait_parity(leader, barrier(q_empty, g), tile_parity ^ 1u, at("wait_q_empty"));
          std::uint64_t const word = slot + static_cast<std::uint64_t>(g) * 4;
          w.write(leader, Footprint(w.shared(), word, word + 4), at("store_tile"));
          if (has(expect_q)) co_await w.arrive_expect_tx(leader, barrier(q_full, g), q_bytes, at("expect_q"));
          co_await load(w, place_q(g), q_bytes, barrier(q_full, g), at("load_q"));
        }
        if (block > 0) {
          int const s = iv % stages;
          if (has(wait_v_empty))
            co_await w.wait_parity(leader, barrier(v_empty, s), static_cast<std::uint32_t>(iv / stages & 1) ^ 1u,
                                   at("wait_v_empty"));
          if (has(expect_v)) co_await w.arrive_expect_tx(leader, barrier(v_full, s), k_bytes, at("expect_v"));
          co_await load(w, place_v(s), k_bytes, barrier(v_full, s), at("load_v"));
          ++iv;
        }
      }
    }
  }

  // Registers of a consumer: S, O, P.
  static constexpr std::uint64_t s0 = 0, o0 = 64, p0 = 128, p1 = 160;

  MaybeTurn wait(Warp w, Op op, MbarrierAddress full, int phase, ActionSite site) const {
    if (!has(op)) return {};
    return w.wait_parity(all_lanes, full, static_cast<std::uint32_t>(phase & 1), site);
  }
  MaybeTurn release(Warp w, Op op, MbarrierAddress empty, ActionSite site) const {
    if (!has(op)) return {};
    return w.arrive(leader, empty, 1, site);
  }
  MaybeTurn wait_products(Warp w, Op op, int pending, ActionSite site) const {
    if (!has(op)) return {};
    return w.wgmma_wait(pending, site);
  }

  /// Issues S of a block of K: Q times K.
  Turn issue_scores(Warp w, int g, int stage) const {
    if (has(fence_s)) w.wgmma_fence(at("fence_s"));
    Footprint const operands[] = {Footprint(w.shared(), place_q(g), place_q(g) + q_bytes),
                                  Footprint(w.shared(), place_k(stage), place_k(stage) + k_bytes)};
    return w.wgmma(
        {.shared = operands, .accumulators = Footprint(w.registers(), s0, o0), .accumulate = false, .shape = 1},
        at("wgmma_s"));
  }
  /// Issues O of a block of V: P times V, on top of the blocks before it, rescaled.
  Turn issue_output(Warp w, int stage, bool first) const {
    if (!first) {  // O *= alpha
      w.read_registers(o0, p0, at("rescale"));
      w.write_registers(o0, p0, at("rescale"));
    }
    if (has(fence_o)) w.wgmma_fence(at("fence_o"));
    Footprint const operands[] = {Footprint(w.shared(), place_v(stage), place_v(stage) + k_bytes)};
    return w.wgmma({.shared = operands,
                    .a_registers = Footprint(w.registers(), p0, p1),
                    .accumulators = Footprint(w.registers(), o0, p0),
                    .accumulate = !first,
                    .shape = 2},
                   at("wgmma_o"));
  }
  /// Writes O to the warp's staging buffer once the store before it has read that, for TMA to see.
  void stage_output(Warp w, std::uint64_t staging) const {
    if (has(sync_buffer_free)) w.warp_sync(all_lanes, at("sync_free"));
    w.write(all_lanes, PerLane(w.shared(), staging, o_bytes / 32), at("stmatrix"));
    if (has(proxy_fence)) w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
    if (has(sync_written)) w.warp_sync(all_lanes, at("sync_written"));
  }
  Turn store_output(Warp w, int tile, int number) const {
    std::uint64_t const staging = place_o(number);
    std::uint64_t const to = static_cast<std::uint64_t>(tile * 4 * groups + number) * o_bytes;
    CopyOut store;
    store.source = Footprint(w.shared(), staging, staging + o_bytes);
    store.destination = Footprint(result, to, to + o_bytes);
    store.alignment = 128;
    return w.copy_out(leader, store, at("tma_store"));
  }

  Task consumer(Warp w) {
    if (has(cta_barrier)) co_await w.barrier(0, 0, all_lanes, at("barrier"));
    int const number = w.number() - 4;
    int const g = number / 4;
    int ik = 0;
    int iv = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      co_await wait(w, wait_q, barrier(q_full, g), tile, at("wait_q"));
      std::uint64_t const word = slot + static_cast<std::uint64_t>(g) * 4;
      w.read(all_lanes, Footprint(w.shared(), word, word + 4), at("load_tile"));
      // Step j issues S of block j and O of block j - 1; the first has no O, the last no S.
      for (int j = 0; j <= blocks; ++j) {
        if (j < blocks) {
          co_await wait(w, wait_k, barrier(k_full, ik % stages), ik / stages, at("wait_k"));
          co_await issue_scores(w, g, ik % stages);
          if (has(commit_s)) w.wgmma_commit(at("commit_s"));
        }
        if (j > 0) {
          co_await wait(w, wait_v, barrier(v_full, iv % stages), iv / stages, at("wait_v"));
          co_await issue_output(w, iv % stages, j == 1);
          if (has(commit_o)) w.wgmma_commit(at("commit_o"));
        }
        if (j < blocks) {
          co_await wait_products(w, wait_s, j > 0 ? 1 : 0, at("wait_s"));
          co_await release(w, release_k, barrier(k_empty, ik % stages), at("release_k"));
          ++ik;
          if (j == blocks - 1) {  // Q was read for the last time
            if (has(sync_q)) w.warp_sync(all_lanes, at("sync_q"));
            co_await release(w, release_q, barrier(q_empty, g), at("release_q"));
          }
          w.read_registers(s0, o0, at("softmax"));
        }
        if (j > 0) {
          co_await wait_products(w, wait_o, 0, at("wait_o"));
          co_await release(w, release_v, barrier(v_empty, iv % stages), at("release_v"));
          ++iv;
        }
        if (j < blocks) w.write_registers(p0, p1, at("pack_p"));
      }
      w.read_registers(o0, p0, at("epilogue"));
      if (has(store_wait_read)) co_await w.bulk_wait(leader, 0, true, at("bulk_wait_read"));
      stage_output(w, place_o(number));
      co_await store_output(w, tile, number);
      if (has(store_commit)) w.bulk_commit(leader, at("bulk_commit"));
    }
    if (has(store_wait)) co_await w.bulk_wait(leader, 0, false, at("bulk_wait"));
  }
};

Simulation simulate(Attention& attention) {
  return Simulation({.shared_bytes = 65536}, [&attention](Machine& m) { attention.build(m); });
}

}  // namespace

TEST_CASE("attention with two products in flight is silent under every kind of schedule", "[machine]") {
  for (int blocks : {1, 2, 3, 5}) {
    Attention attention{.blocks = blocks, .tiles = blocks == 3 ? 3 : 2};
    Simulation simulation = simulate(attention);
    Sweep const sweep = simulation.sweep(schedules(blocks == 3 ? 200 : 30));
    INFO("blocks " << blocks << "\n" << sweep.text());
    REQUIRE(sweep.clean());
  }
}

TEST_CASE("attention without any one synchronising op is reported", "[machine]") {
  for (int op = 0; op < op_count; ++op) {
    Attention attention{};
    attention.without.set(static_cast<std::size_t>(op));
    Simulation simulation = simulate(attention);
    Sweep const sweep = simulation.sweep(20, false);
    INFO("without " << names[op] << ": " << sweep.bad_runs << " of " << sweep.runs << "\n" << sweep.text());
    CHECK(sweep.bad_runs == sweep.runs);
  }
}
