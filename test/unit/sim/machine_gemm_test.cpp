// Tests the warp-specialised GEMM at tiny size: clean as it stands, reported if any one of its synchronising ops is
// erased.
#include <fmt/format.h>

#include <bitset>

#include "support/count_allocations.hpp"
#include "unit/sim/machine_support.hpp"

namespace {

using namespace tegula::test;

/// Lists the ops that a test may erase, one per line of the kernel.
enum Op {
  init_full,
  init_empty,
  fence_init,
  cta_barrier,
  registers_down,
  registers_up,
  wait_empty,
  expect_full,
  load_a,
  load_b,
  wait_full,
  mma_fence,
  mma_commit,
  mma_wait_one,
  release,
  mma_wait_all,
  release_last,
  store_wait_read,
  buffer_free,
  proxy_fence,
  buffer_written,
  store_commit,
  store_wait,
  op_count,
};

struct Expectation {
  char const* name;
  ReportKind kind;  // without it
};
constexpr Expectation expectations[] = {
    {"init full", ReportKind::use_before_init},
    {"init empty", ReportKind::use_before_init},
    {"fence.mbarrier_init", ReportKind::use_before_init},
    {"CTA barrier", ReportKind::use_before_init},
    {"setmaxnreg.dec", ReportKind::deadlock},
    {"setmaxnreg.inc", ReportKind::misuse},  // not taken out: it costs registers and orders nothing
    {"wait empty", ReportKind::phase_error},
    {"arrive.expect_tx", ReportKind::deadlock},
    {"tma_load A", ReportKind::wrong_byte_count},
    {"tma_load B", ReportKind::wrong_byte_count},
    {"wait full", ReportKind::race_raw},
    {"wgmma.fence", ReportKind::missing_wgmma_fence},
    {"wgmma.commit", ReportKind::race_war},
    {"wgmma.wait 1", ReportKind::race_war},
    {"arrive empty", ReportKind::deadlock},
    {"wgmma.wait 0", ReportKind::race_raw},
    {"last arrive empty", ReportKind::deadlock},
    {"bulk.wait.read 0", ReportKind::race_war},
    {"barrier: buffer free", ReportKind::race_war},
    {"fence.proxy.async", ReportKind::missing_proxy_fence},
    {"barrier: buffer written", ReportKind::race_raw},
    {"bulk.commit", ReportKind::race_war},
    {"bulk.wait 0", ReportKind::open_at_exit},
};
static_assert(std::size(expectations) == op_count);

struct Gemm {
  int stages = 2;
  int steps = 3;  // of k, per tile
  int tiles = 3;
  std::bitset<op_count> without = {};
  bool by_rows = false;  // wgmma as the hardware reads: four K steps of 32 bytes of each row of a 128-byte pitch

  static constexpr int groups = 2;  // consumer warpgroups, 64 rows each
  static constexpr std::uint64_t a_bytes = 16384, b_bytes = 16384, c_bytes = 8192;
  std::vector<int> a = {}, b = {};      // ids in the stages
  std::vector<int> acc = {}, out = {};  // per consumer warp; per tile and warp
  Space source = 0, result = 0;

  MbarrierAddress full(int s) const { return {0, static_cast<std::uint32_t>(s) * 8}; }
  MbarrierAddress empty(int s) const { return {0, 64u + static_cast<std::uint32_t>(s) * 8}; }
  std::uint64_t place_a(int s) const { return 1024 + static_cast<std::uint64_t>(s) * (a_bytes + b_bytes); }
  std::uint64_t place_b(int s) const { return place_a(s) + a_bytes; }
  std::uint64_t place_c(int g) const { return place_a(stages) + static_cast<std::uint64_t>(g) * c_bytes; }
  [[nodiscard]] bool has(Op op) const { return !without[op]; }

  static std::uint64_t pack(int kind, int i, int s) {
    return static_cast<std::uint64_t>(kind) << 32 | static_cast<std::uint64_t>(i) << 8 | static_cast<std::uint64_t>(s);
  }
  Effect effect(int kind, int i, int s) {
    return {[](void* context, std::uint64_t payload, Moment) {
              Gemm& g = *static_cast<Gemm*>(context);
              int const number = static_cast<int>(payload >> 8 & 0xffffff);
              std::size_t const stage = payload & 0xff;
              switch (payload >> 32) {
                case 0:
                  g.a[stage] = number;
                  break;
                case 1:
                  g.b[stage] = 1000 * number;
                  break;
                default:
                  g.acc[static_cast<std::size_t>(number)] += g.a[stage] + g.b[stage];
              }
            },
            this, pack(kind, i, s)};
  }

  void build(Machine& m) {
    a.assign(static_cast<std::size_t>(stages), -1);
    b.assign(static_cast<std::size_t>(stages), -1);
    acc.assign(4 * groups, 0);
    out.assign(static_cast<std::size_t>(tiles) * 4 * groups, -1);
    source = m.add_buffer({.name = "%a", .bytes = 1 << 20, .read_only = true});
    result = m.add_buffer({.name = "%c", .bytes = 1 << 20, .initialised = false});
    for (int s = 0; s < stages; ++s) {
      m.name(0, full(s).offset, full(s).offset + 8u, fmt::format("%full[{}]", s));
      m.name(0, empty(s).offset, empty(s).offset + 8u, fmt::format("%empty[{}]", s));
      m.name(0, place_a(s), place_b(s), fmt::format("%ring_a[{}]", s));
      m.name(0, place_b(s), place_a(s + 1), fmt::format("%ring_b[{}]", s));
    }
    for (int g = 0; g < groups; ++g) m.name(0, place_c(g), place_c(g + 1), fmt::format("%staging[{}]", g));
    for (int w = 0; w < 4; ++w) m.add_warp(0, [this](Warp warp) { return producer(warp); });
    for (int w = 0; w < 4 * groups; ++w) m.add_warp(0, [this](Warp warp) { return consumer(warp); });
  }

  Task producer(Warp w) {
    if (w.number() == 0) {
      for (int s = 0; s < stages; ++s) {
        if (has(init_full)) co_await w.mbarrier_init(leader, full(s), 1, at("mbarrier_init"));
        if (has(init_empty)) co_await w.mbarrier_init(leader, empty(s), 4 * groups, at("mbarrier_init"));
      }
      if (has(fence_init)) w.fence_mbarrier_init(leader, at("fence_mbarrier_init"));
    }
    if (has(cta_barrier)) co_await w.barrier(0, 0, all_lanes, at("barrier"));
    if (has(registers_down)) co_await w.set_max_registers(false, 40, at("set_max_registers"));
    if (w.number() != 0) co_return;
    for (int i = 0; i < tiles * steps; ++i) {
      int const s = i % stages;
      auto const parity = static_cast<std::uint32_t>(i / stages & 1);
      if (has(wait_empty)) co_await w.wait_parity(leader, empty(s), parity ^ 1u, at("mbarrier_wait"));
      if (has(expect_full)) co_await w.arrive_expect_tx(leader, full(s), a_bytes + b_bytes, at("arrive_expect_tx"));
      if (has(load_a)) co_await load(w, s, place_a(s), a_bytes, effect(0, i + 1, s), at("tma_load"));
      if (has(load_b)) co_await load(w, s, place_b(s), b_bytes, effect(1, i + 1, s), at("tma_load"));
    }
  }

  Turn load(Warp w, int s, std::uint64_t to, std::uint64_t bytes, Effect effect, ActionSite site) {
    return w.copy_in(leader,
                     {.source = Footprint(source, 0, bytes),
                      .destination = Footprint(w.shared(), to, to + bytes),
                      .mbarrier = full(s),
                      .bytes = static_cast<std::uint32_t>(bytes),
                      .alignment = 1024,
                      .effect = effect},
                     site);
  }

  MaybeTurn release_stage(Warp w, Op op, int i, ActionSite site) const {
    if (!has(op)) return {};
    return w.arrive(leader, empty((i - 1) % stages), 1, site);
  }
  MaybeTurn meet_group(Warp w, Op op, int group, ActionSite site) const {
    if (!has(op)) return {};
    return w.barrier(1 + group, 128, all_lanes, site);
  }

  /// Issues the product of a stage, or by rows its K step j.
  Turn issue_product(Warp w, int s, std::uint64_t j, bool first) {
    int const number = w.number() - 4;
    std::uint64_t const rows = place_a(s) + static_cast<std::uint64_t>(number / 4) * 8192;
    std::vector<LaneBytes> a_rows, b_rows;
    for (std::uint64_t r = 0; by_rows && r < 16; ++r) {
      std::uint64_t const at_row = rows + static_cast<std::uint64_t>(number % 4) * 2048 + r * 128 + j * 32;
      a_rows.push_back({at_row, at_row + 32, every_lane});
    }
    for (std::uint64_t r = 0; by_rows && r < 128; ++r)
      b_rows.push_back({place_b(s) + r * 128 + j * 32, place_b(s) + r * 128 + j * 32 + 32, every_lane});
    Footprint const operands[] = {
        by_rows ? Footprint(w.shared(), a_rows) : Footprint(w.shared(), rows, rows + 8192),
        by_rows ? Footprint(w.shared(), b_rows) : Footprint(w.shared(), place_b(s), place_b(s) + b_bytes)};
    return w.wgmma({.shared = operands,
                    .accumulators = Footprint(w.registers(), 0, 256),
                    .accumulate = !first || j != 0,
                    .shape = 64,
                    .effect = j == 0 ? effect(2, number, s) : Effect{}},
                   at("wgmma"));
  }
  /// Writes a warp's sums to the group's staging buffer, for TMA to see.
  void stage_sums(Warp w, int tile, std::uint64_t staging) {
    int const number = w.number() - 4;
    if (steps > 0) w.read_registers(0, 256, at("cast"));
    out[static_cast<std::size_t>(tile * 4 * groups + number)] = acc[static_cast<std::size_t>(number)];
    w.write(all_lanes, PerLane(w.shared(), staging + static_cast<std::uint64_t>(number % 4) * 2048, 64),
            at("stmatrix"));
    if (has(proxy_fence)) w.fence_proxy_async(all_lanes, FenceSpace::shared, at("fence_proxy_async"));
  }
  Turn store_sums(Warp w, int tile, int group) const {
    std::uint64_t const to = static_cast<std::uint64_t>(tile * groups + group) * c_bytes;
    return w.copy_out(leader,
                      {.source = Footprint(w.shared(), place_c(group), place_c(group) + c_bytes),
                       .destination = Footprint(result, to, to + c_bytes),
                       .alignment = 1024},
                      at("tma_store"));
  }

  Task consumer(Warp w) {
    if (has(cta_barrier)) co_await w.barrier(0, 0, all_lanes, at("barrier"));
    if (has(registers_up)) co_await w.set_max_registers(true, 232, at("set_max_registers"));
    int const number = w.number() - 4;
    int const group = number / 4;
    bool const issues = number % 4 == 0;
    int i = 0;
    for (int tile = 0; tile < tiles; ++tile) {
      acc[static_cast<std::size_t>(number)] = 0;
      for (int k = 0; k < steps; ++k, ++i) {
        int const s = i % stages;
        if (has(wait_full))
          co_await w.wait_parity(all_lanes, full(s), static_cast<std::uint32_t>(i / stages & 1), at("mbarrier_wait"));
        if (has(mma_fence)) w.wgmma_fence(at("wgmma_fence"));
        for (std::uint64_t j = 0; j < (by_rows ? 4 : 1); ++j) co_await issue_product(w, s, j, k == 0);
        if (has(mma_commit)) w.wgmma_commit(at("wgmma_commit"));
        if (has(mma_wait_one)) co_await w.wgmma_wait(1, at("wgmma_wait"));
        if (k > 0) co_await release_stage(w, release, i, at("arrive"));
      }
      if (has(mma_wait_all)) co_await w.wgmma_wait(0, at("wgmma_wait"));
      if (steps > 0) co_await release_stage(w, release_last, i, at("arrive"));
      if (issues && has(store_wait_read)) co_await w.bulk_wait(leader, 0, true, at("bulk_wait_read"));
      co_await meet_group(w, buffer_free, group, at("barrier"));
      stage_sums(w, tile, place_c(group));
      co_await meet_group(w, buffer_written, group, at("barrier"));
      if (!issues) continue;
      co_await store_sums(w, tile, group);
      if (has(store_commit)) w.bulk_commit(leader, at("bulk_commit"));
    }
    if (issues && has(store_wait)) co_await w.bulk_wait(leader, 0, false, at("bulk_wait"));
  }

  [[nodiscard]] std::vector<int> expected() const {
    std::vector<int> values;
    for (int tile = 0; tile < tiles; ++tile) {
      int sum = 0;
      for (int k = 0; k < steps; ++k) sum += 1001 * (tile * steps + k + 1);
      values.insert(values.end(), 4 * groups, sum);
    }
    return values;
  }
};

Simulation simulate(Gemm& gemm) {
  return Simulation({.registers = 168}, [&gemm](Machine& m) { gemm.build(m); });
}

}  // namespace

TEST_CASE("the specialised gemm is silent and right under every kind of schedule", "[machine]") {
  for (int stages : {2, 3, 4}) {
    for (int steps : {0, 1, stages - 1, stages, stages + 1, 2 * stages + 1}) {
      Gemm gemm{.stages = stages, .steps = steps, .tiles = 2};
      Simulation simulation = simulate(gemm);
      Sweep const sweep = simulation.sweep(stages == 2 && steps == 3 ? 250 : 30);
      INFO("stages " << stages << ", steps " << steps << "\n" << sweep.text());
      REQUIRE(sweep.clean());
      REQUIRE(gemm.out == gemm.expected());
    }
  }
}

TEST_CASE("the gemm without any one synchronising op is reported", "[machine]") {
  for (int op = 0; op < op_count; ++op) {
    if (op == registers_up) continue;
    Gemm gemm{};
    gemm.without.set(static_cast<std::size_t>(op));
    Simulation simulation = simulate(gemm);
    Sweep const sweep = simulation.sweep(20, false);
    INFO("without " << expectations[op].name << "\n" << sweep.text());
    CHECK(sweep.bad_runs == sweep.runs);  // under each schedule, not only an unlucky one
    CHECK(sweep.has(expectations[op].kind));
  }
}

TEST_CASE("two missing ops do not hide each other", "[machine]") {
  for (int a = 0; a < op_count; ++a) {
    for (int b = a + 1; b < op_count; ++b) {
      if (a == registers_up || b == registers_up) continue;
      Gemm gemm{};
      gemm.without.set(static_cast<std::size_t>(a));
      gemm.without.set(static_cast<std::size_t>(b));
      Simulation simulation = simulate(gemm);
      Sweep const sweep = simulation.sweep(0, false);
      INFO("without " << expectations[a].name << " and " << expectations[b].name << "\n" << sweep.text());
      CHECK(sweep.bad_runs == sweep.runs);
    }
  }
}

TEST_CASE("the accesses of a 256x256x256 gemm cost few steps and allocations", "[machine]") {
  Gemm gemm{.stages = 4, .steps = 4, .tiles = 4, .by_rows = true};  // 128x128 tiles, K steps of 64
  Simulation simulation = simulate(gemm);
  Outcome outcome;
  Allocations const made = allocations_of([&] { outcome = simulation.run(Schedule::seed(1)); });
  INFO(outcome.text());
  CHECK(outcome.clean());
  CHECK(gemm.out == gemm.expected());
  INFO(outcome.steps << " steps, " << made.count << " allocations");
  CHECK(outcome.steps < 3400);
  CHECK(made.count < 15'000);
}
