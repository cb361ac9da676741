// The hazard catalogue (public bugs of other systems) as kernels: each planted error is found, with the right kind and
// the lines of both sides, and the repaired kernel is silent. Rows that the verifier refuses stand in
// test/ir/invalid/block.tir.
#include <sstream>

#include "block_support.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

std::vector<std::string> lines_of(ir::Function const& function) {
  std::vector<std::string> lines;
  std::istringstream text(ir::print(function));
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  return lines;
}

/// Each side names a line of the function's text, and that line holds the op it names.
void check_lines(ir::Function const& function, sim::machine::Report const& report) {
  auto const lines = lines_of(function);
  for (sim::machine::Side const* side : {&report.earlier, &report.later}) {
    bool const outside = report.text().find("by the preceding grid") != std::string::npos && side == &report.earlier;
    if (!side->present() || outside) continue;
    INFO(report.text());
    REQUIRE(side->site.ir_line >= 1);
    REQUIRE(side->site.ir_line <= lines.size());
    CHECK(lines[side->site.ir_line - 1].find(side->site.op) != std::string::npos);
  }
}

/// Runs under many schedules, without stopping at the first that is bad.
block::Sweep many(ir::Module const& module, std::vector<HostTensor*> const& tensors, block::Options const& options) {
  block::Simulation simulation(module.kernel(), views(tensors), options);
  return simulation.sweep(8, false);
}

struct Planted {
  std::string from, to;  ///< replaced in the sound kernel
  ReportKind kind;
};

/// The sound kernel is silent, and each error in it is found under every schedule or at least under one.
void check_planted(std::string const& sound, std::vector<Planted> const& errors,
                   std::vector<HostTensor*> const& tensors, block::Options const& options = {}) {
  {
    auto const module = module_of(sound);
    auto const sweep = many(module, tensors, options);
    INFO(sound);
    INFO(sweep.str());
    REQUIRE(sweep.clean());
  }
  for (Planted const& error : errors) {
    INFO(error.from << "-> " << error.to);
    REQUIRE(sound.find(error.from) != std::string::npos);
    auto const module = unverified(with(sound, error.from, error.to));
    auto const sweep = many(module, tensors, options);
    INFO(sweep.str());
    CHECK(sweep.bad_runs != 0);
    CHECK(sweep.has(error.kind));
    for (block::Result const& result : sweep.bad)
      for (auto const& report : result.reports) check_lines(module.kernel(), report);
  }
}

/// A ring of two stages between a producer warp and one warpgroup: C (64 x 32) = A (64 x K) * B (K x 32), for a number
/// of tiles along M. Each warp of the consumers gives stages back.
constexpr auto ring =
    R"(kernel @ring(%a: in tensor<?x?xbf16>, %b: in tensor<?x?xbf16>, %c: out tensor<?x?xf32>) warps = 8 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %64 = constant {value = 64 : i64} : i64
  %m = extent %a : i64
  %k = extent %a {axis = 1} : i64
  %tiles = ceil_div %m, %64 : i64
  %blocks = ceil_div %k, %64 : i64
  %map_a = tensor_map %a {box = [64, 64], swizzle = b128} : tensor_map<64x64xbf16>
  %map_b = tensor_map %b {box = [64, 32], swizzle = b64} : tensor_map<64x32xbf16>
  %map_c = tensor_map %c {box = [64, 32], swizzle = b128} : tensor_map<64x32xf32>
  %ring_a = shared_alloc {align = 1024} : shared<2x64x64xbf16, swizzled(128)>
  %ring_b = shared_alloc {align = 1024} : shared<2x64x32xbf16, swizzled(64)>
  %staging = shared_alloc {align = 1024} : shared<64x32xf32, swizzled(128)>
  %full = shared_alloc {align = 8} : mbarrier<2>
  %empty = shared_alloc {align = 8} : mbarrier<2>
  elect {
    mbarrier_init %full
    mbarrier_init %empty {arrivals = 4}
    fence_mbarrier_init
    yield
  }
  barrier
  warp_specialize {warps = [4, 4], replicas = [1, 1], registers = [40, 232]} (%p: i64) {
    elect {
      %filled = for %tile = %0 to %tiles step %1 carry (%i0 = %0) : i64 {
        %row = mul %tile, %64 : i64
        %last = for %block = %0 to %blocks step %1 carry (%i = %i0) : i64 {
          %stage = and %i, %1 : i64
          %use = shr %i, %1 : i64
          %parity = xor %use, %1 : i64
          %at = mul %block, %64 : i64
          %e = view %empty, %stage : mbarrier
          mbarrier_wait %e, %parity
          %f = view %full, %stage : mbarrier
          mbarrier_expect %f {bytes = 12288}
          %to_a = view %ring_a, %stage, %0, %0 : shared<64x64xbf16, swizzled(128)>
          tma_load %map_a, %to_a, %f, %row, %at
          %to_b = view %ring_b, %stage, %0, %0 : shared<64x32xbf16, swizzled(64)>
          tma_load %map_b, %to_b, %f, %at, %0
          %next = add %i, %1 : i64
          yield %next
        }
        yield %last
      }
      yield
    }
    yield
  } and (%g: i64) {
    %read = for %tile_c = %0 to %tiles step %1 carry (%j0 = %0) : i64 {
      %zero = constant {value = 0 : f32} : tile<64x32xf32, wgmma>
      %acc, %end = for %block_c = %0 to %blocks step %1 carry (%sum = %zero, %j = %j0) : tile<64x32xf32, wgmma>, i64 {
        %stage_c = and %j, %1 : i64
        %use_c = shr %j, %1 : i64
        %f_c = view %full, %stage_c : mbarrier
        mbarrier_wait %f_c, %use_c
        %from_a = view %ring_a, %stage_c, %0, %0 : shared<64x64xbf16, swizzled(128)>
        %from_b = view %ring_b, %stage_c, %0, %0 : shared<64x32xbf16, swizzled(64)>
        %fenced = wgmma_fence %sum : tile<64x32xf32, wgmma>
        %product = wgmma %from_a, %from_b, %fenced : pending<64x32xf32, wgmma>
        wgmma_commit
        %done = wgmma_wait %product : tile<64x32xf32, wgmma>
        %e_c = view %empty, %stage_c : mbarrier
        elect {warp = -1} {
          mbarrier_arrive %e_c
          yield
        }
        %next_c = add %j, %1 : i64
        yield %done, %next_c
      }
      %row_c = mul %tile_c, %64 : i64
      elect {
        bulk_wait {read = true}
        yield
      }
      barrier %1 {threads = 128}
      shared_store %staging, %acc
      fence_proxy_async
      barrier %1 {threads = 128}
      elect {
        tma_store %map_c, %staging, %row_c, %0
        bulk_commit
        yield
      }
      yield %end
    }
    elect {
      bulk_wait
      yield
    }
    yield
  }
  return
}
)";

}  // namespace

TEST_CASE("hazards of a ring of stages are found from ir", "[sim][block][N1][B6][B8]") {
  HostTensor a = small_tensor(Element::bf16, {128, 320}, 1), b = small_tensor(Element::bf16, {320, 32}, 2),
             c(Element::f32, {128, 32});
  std::string const arrive = R"(        elect {warp = -1} {
          mbarrier_arrive %e_c
          yield
        }
)";
  std::string const wait = "        %done = wgmma_wait %product : tile<64x32xf32, wgmma>\n";
  std::string const view = "        %e_c = view %empty, %stage_c : mbarrier\n";
  check_planted(
      ring,
      {
          // 1, 16, 21: the stage is given back before the product has read it.
          {wait + view + arrive, view + arrive + wait, ReportKind::race_war},
          // 2: nothing publishes the barriers.
          {"    yield\n  }\n  barrier\n  warp_specialize", "    yield\n  }\n  warp_specialize",
           ReportKind::use_before_init},
          {"    fence_mbarrier_init\n", "", ReportKind::use_before_init},
          // 3: the fence is missing, or only the lane that stores has one.
          {"      fence_proxy_async\n", "", ReportKind::missing_proxy_fence},
          {"      fence_proxy_async\n      barrier %1 {threads = 128}\n      elect {\n",
           "      barrier %1 {threads = 128}\n      elect {\n        fence_proxy_async\n",
           ReportKind::missing_proxy_fence},
          // 4: a swizzled buffer that is aligned to 128 bytes only.
          {"%staging = shared_alloc {align = 1024}", "%staging = shared_alloc {align = 128, offset = 40064}",
           ReportKind::misaligned},
          // 5: a barrier that not all its threads reach.
          {"      barrier %1 {threads = 128}\n      shared_store",
           "      barrier %1 {threads = 160}\n      shared_store", ReportKind::deadlock},
          // 6: asynchronous data read without its wait.
          {"        mbarrier_wait %f_c, %use_c\n", "", ReportKind::race_raw},
          // 14: one warp speaks for the others, which have not waited.
          {"mbarrier_init %empty {arrivals = 4}", "mbarrier_init %empty {arrivals = 1}", ReportKind::phase_error},
          {"elect {warp = -1} {", "elect {", ReportKind::deadlock},
          // 17: the parity of the loop's index instead of the ring's own counter.
          {"%use_c = shr %j, %1", "%use_c = shr %block_c, %1", ReportKind::phase_error},
          {"%use = shr %i, %1", "%use = shr %block, %1", ReportKind::phase_error},
          // 18, 24: bytes and arrivals that do not add up.
          {"{bytes = 12288}", "{bytes = 12289}", ReportKind::wrong_byte_count},
          {"{bytes = 12288}", "{bytes = 12287}", ReportKind::wrong_byte_count},
          {"{bytes = 12288}", "{bytes = 8192}", ReportKind::wrong_byte_count},
          {"mbarrier_init %empty {arrivals = 4}", "mbarrier_init %empty {arrivals = 5}", ReportKind::deadlock},
          {"mbarrier_init %full\n", "mbarrier_init %full {arrivals = 2}\n", ReportKind::deadlock},
          // 28: the store that reads the staging buffer may still be open when it is written again.
          {"        bulk_wait {read = true}\n", "        bulk_wait {pending = 1, read = true}\n", ReportKind::race_war},
          // Registers of a product: no fence after they were set, and a read before the wait.
          {"        %fenced = wgmma_fence %sum : tile<64x32xf32, wgmma>\n        %product = wgmma %from_a, %from_b, "
           "%fenced",
           "        %product = wgmma %from_a, %from_b, %sum", ReportKind::missing_wgmma_fence},
          {"wgmma_wait %product", "wgmma_wait %product {pending = 1}", ReportKind::race_raw},
          // An asynchronous copy that nobody waits for.
          {"    elect {\n      bulk_wait\n      yield\n    }\n", "", ReportKind::open_at_exit},
      },
      {&a, &b, &c});
}

TEST_CASE("a ring of stages is exact for every trip count", "[sim][block][B7]") {
  auto const module = module_of(ring);
  for (std::int64_t const k : {0, 8, 64, 128, 136, 192, 256, 320}) {
    HostTensor a = small_tensor(Element::bf16, {72, k}, 1), b = small_tensor(Element::bf16, {k, 32}, 2),
               c(Element::f32, {72, 32});
    block::Simulation simulation(module.kernel(), views({&a, &b, &c}));
    auto const sweep = simulation.sweep(10);
    INFO("k = " << k << "\n" << sweep.str());
    CHECK(sweep.clean());
    CHECK(first_wrong(c, [&](std::int64_t i) {
            double sum = 0;
            for (std::int64_t x = 0; x < k; ++x) sum += a.number(i / 32 * k + x) * b.number(x * 32 + i % 32);
            return sum;
          }) == "");
  }
}

TEST_CASE("hazards of generic and asynchronous accesses are found from ir", "[sim][block][N1]") {
  // x comes by a copy, is scaled in place by ordinary accesses, goes through a product with the identity's columns, and
  // the buffer is filled again: every change of proxy in both directions.
  HostTensor x = small_tensor(Element::bf16, {128, 64}, 3), w = small_tensor(Element::bf16, {64, 16}, 4),
             y(Element::f32, {128, 16});
  std::string const sound =
      R"(kernel @proxies(%x: in tensor<?x?xbf16>, %w: in tensor<?x?xbf16>, %y: out tensor<?x?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %2 = constant {value = 2 : i64} : i64
  %64 = constant {value = 64 : i64} : i64
  %map_x = tensor_map %x {box = [64, 64], swizzle = b128} : tensor_map<64x64xbf16>
  %map_w = tensor_map %w {box = [64, 16], swizzle = b32} : tensor_map<64x16xbf16>
  %buffer = shared_alloc {align = 1024} : shared<64x64xbf16, swizzled(128)>
  %weights = shared_alloc {align = 1024} : shared<64x16xbf16, swizzled(32)>
  %full = shared_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    yield
  }
  barrier
  elect {
    mbarrier_expect %full {bytes = 2048}
    tma_load %map_w, %weights, %full, %0, %0
    yield
  }
  mbarrier_wait %full, %0
  barrier
  for %i = %0 to %2 step %1 {
    %row = mul %i, %64 : i64
    %parity = add %i, %1 : i64
    elect {
      mbarrier_expect %full {bytes = 8192}
      tma_load %map_x, %buffer, %full, %row, %0
      yield
    }
    mbarrier_wait %full, %parity
    %old = shared_load %buffer : tile<64x64xbf16, wgmma_a>
    %twice = add %old, %old : tile<64x64xbf16, wgmma_a>
    shared_store %buffer, %twice
    fence_proxy_async
    barrier
    wgmma_fence
    %p = wgmma %buffer, %weights : pending<64x16xf32, wgmma>
    wgmma_commit
    %r = wgmma_wait %p : tile<64x16xf32, wgmma>
    store %y, %r, %row, %0
    barrier
    yield
  }
  return
}
)";
  std::string const fence = "    fence_proxy_async\n    barrier\n    wgmma_fence\n";
  check_planted(sound,
                {
                    // 19: the product reads what ordinary stores wrote.
                    {fence, "    barrier\n    wgmma_fence\n", ReportKind::missing_proxy_fence},
                    {fence, "    fence_proxy_async\n    wgmma_fence\n", ReportKind::race_raw},
                    // 20: the next turn's copy overwrites what other warps still read.
                    {"    store %y, %r, %row, %0\n    barrier\n", "    store %y, %r, %row, %0\n", ReportKind::race_war},
                    {"    %r = wgmma_wait %p : tile<64x16xf32, wgmma>\n    store %y, %r, %row, %0\n    barrier\n",
                     "    barrier\n    %r = wgmma_wait %p : tile<64x16xf32, wgmma>\n    store %y, %r, %row, %0\n",
                     ReportKind::race_war},
                    // 10: the box starts in the middle of 16 bytes.
                    {"tma_load %map_x, %buffer, %full, %row, %0", "tma_load %map_x, %buffer, %full, %row, %1",
                     ReportKind::misaligned},
                },
                {&x, &w, &y});
  run_clean(sound, {&x, &w, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) {
          double sum = 0;
          for (std::int64_t k = 0; k < 64; ++k) sum += 2 * x.number(i / 16 * 64 + k) * w.number(k * 16 + i % 16);
          return sum;
        }) == "");
}

TEST_CASE("a read by threads before a copy overwrites needs a fence", "[sim][block][N1]") {
  // 29: consumers read a stage by ordinary loads and give it back.
  HostTensor x = small_tensor(Element::f32, {4, 128}, 5), y(Element::f32, {4, 128});
  std::string const t = "tile<128xf32, [register (1) (2), lane (4) (8) (16) (32) (64)]>";
  std::string const sound = R"(kernel @stages(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 2 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %4 = constant {value = 4 : i64} : i64
  %map = tensor_map %x {box = [1, 128]} : tensor_map<1x128xf32>
  %buffer = shared_alloc {align = 128} : shared<128xf32, dense>
  %full = shared_alloc {align = 8} : mbarrier
  %empty = shared_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    mbarrier_init %empty {arrivals = 32}
    fence_mbarrier_init
    yield
  }
  barrier
  warp_specialize {warps = [1, 1], replicas = [1, 1], registers = [0, 0]} (%p: i64) {
    elect {
      for %i = %0 to %4 step %1 {
        %before = xor %i, %1 : i64
        mbarrier_wait %empty, %before
        mbarrier_expect %full {bytes = 512}
        tma_load %map, %buffer, %full, %i, %0
        yield
      }
      yield
    }
    yield
  } and (%q: i64) {
    for %j = %0 to %4 step %1 {
      mbarrier_wait %full, %j
      %v = shared_load %buffer : TILE
      fence_proxy_async
      mbarrier_arrive %empty
      store %y, %v, %j, %0
      yield
    }
    yield
  }
  return
}
)";
  check_planted(with(sound, "TILE", t),
                {
                    {"      fence_proxy_async\n", "", ReportKind::missing_proxy_fence},
                    {"      fence_proxy_async\n      mbarrier_arrive %empty\n",
                     "      mbarrier_arrive %empty\n      fence_proxy_async\n", ReportKind::missing_proxy_fence},
                    // One lane speaks for the others without a warp barrier.
                    {"{arrivals = 32}", "{arrivals = 1}", ReportKind::phase_error},
                },
                {&x, &y});
  run_clean(with(sound, "TILE", t), {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return x.number(i); }) == "");
}

TEST_CASE("hazards of registers read by products are found from ir", "[sim][block][N1]") {
  // 12: the tile that a product reads from registers lives until the wait that covers it.
  HostTensor x = small_tensor(Element::bf16, {192, 64}, 6), w = small_tensor(Element::bf16, {64, 16}, 7),
             y(Element::f32, {64, 16});
  std::string const sound =
      R"(kernel @registers(%x: in tensor<?x?xbf16>, %w: in tensor<?x?xbf16>, %y: out tensor<?x?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %3 = constant {value = 3 : i64} : i64
  %64 = constant {value = 64 : i64} : i64
  %map_w = tensor_map %w {box = [64, 16], swizzle = b32} : tensor_map<64x16xbf16>
  %weights = shared_alloc {align = 1024} : shared<64x16xbf16, swizzled(32)>
  %full = shared_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    yield
  }
  barrier
  elect {
    mbarrier_expect %full {bytes = 2048}
    tma_load %map_w, %weights, %full, %0, %0
    yield
  }
  mbarrier_wait %full, %0
  %zero = constant {value = 0 : f32} : tile<64x16xf32, wgmma>
  %sum = for %i = %0 to %3 step %1 carry (%acc = %zero) : tile<64x16xf32, wgmma> {
    %row = mul %i, %64 : i64
    %raw = load %x, %row, %0 : tile<64x64xbf16, wgmma_a>
    %twice = add %raw, %raw : tile<64x64xbf16, wgmma_a>
    %a, %c = wgmma_fence %twice, %acc : tile<64x64xbf16, wgmma_a>, tile<64x16xf32, wgmma>
    %p = wgmma %a, %weights, %c : pending<64x16xf32, wgmma>
    wgmma_commit
    %next_raw = load %x, %row, %0 : tile<64x64xbf16, wgmma_a>
    %next = add %next_raw, %next_raw : tile<64x64xbf16, wgmma_a>
    %r, %kept = wgmma_wait %p, %a : tile<64x16xf32, wgmma>, tile<64x64xbf16, wgmma_a>
    %b, %d = wgmma_fence %next, %r : tile<64x64xbf16, wgmma_a>, tile<64x16xf32, wgmma>
    %q = wgmma %b, %weights, %d : pending<64x16xf32, wgmma>
    wgmma_commit
    %s, %kept2 = wgmma_wait %q, %b : tile<64x16xf32, wgmma>, tile<64x64xbf16, wgmma_a>
    yield %s
  }
  store %y, %sum, %0, %0
  return
}
)";
  check_planted(sound,
                {
                    // The second operand is made in the registers of the first, which is not kept until the wait.
                    {"    %r, %kept = wgmma_wait %p, %a : tile<64x16xf32, wgmma>, tile<64x64xbf16, wgmma_a>\n",
                     "    %r = wgmma_wait %p : tile<64x16xf32, wgmma>\n", ReportKind::race_war},
                    // The operand is made after the last fence.
                    {"    %a, %c = wgmma_fence %twice, %acc : tile<64x64xbf16, wgmma_a>, tile<64x16xf32, wgmma>\n"
                     "    %p = wgmma %a, %weights, %c",
                     "    %c = wgmma_fence %acc : tile<64x16xf32, wgmma>\n    %a = add %twice, %twice : "
                     "tile<64x64xbf16, wgmma_a>\n    %p = wgmma %a, %weights, %c",
                     ReportKind::missing_wgmma_fence},
                },
                {&x, &w, &y});
}

TEST_CASE("hazards of shared buffers in turn are found from ir", "[sim][block][N1]") {
  HostTensor x = small_tensor(Element::f32, {256}, 8), y(Element::f32, {256}), z(Element::f32, {256});
  std::string const line = "[register (1), lane (2) (4) (8) (16) (32), warp (64) (128)]";
  std::string const other = "[register (128), lane (4) (8) (16) (32) (64), warp (1) (2)]";
  // 20, 26: a buffer that is written again in the next turn, and one that cp.async still fills.
  std::string sound = R"(kernel @turns(%x: in tensor<?xf32>, %y: out tensor<?xf32>, %z: out tensor<?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %3 = constant {value = 3 : i64} : i64
  %s = shared_alloc {align = 128, offset = 0} : shared<256xf32, dense>
  %t = shared_alloc {align = 128, offset = 1024} : shared<256xf32, dense>
  cp_async %x, %t, %0 {vector = 4}
  cp_async_commit
  %a = load %x, %0 : tile<256xf32, LINE>
  %r = for %i = %0 to %3 step %1 carry (%v = %a) : tile<256xf32, LINE> {
    shared_store %s, %v
    barrier
    %w = shared_load %s : tile<256xf32, OTHER>
    store %z, %w, %0
    barrier
    %u = add %v, %v : tile<256xf32, LINE>
    yield %u
  }
  cp_async_wait
  barrier
  shared_store %t, %r
  barrier
  %last = shared_load %t : tile<256xf32, OTHER>
  store %y, %last, %0
  return
}
)";
  sound = with(with(sound, "LINE", line), "OTHER", other);
  check_planted(
      sound,
      {
          {"    store %z, %w, %0\n    barrier\n", "    store %z, %w, %0\n", ReportKind::race_war},
          {"    barrier\n    %w = shared_load", "    %w = shared_load", ReportKind::race_raw},
          {"  cp_async_wait\n  barrier\n", "  barrier\n", ReportKind::race_waw},
          {"  cp_async_wait\n  barrier\n", "  cp_async_wait {pending = 1}\n  barrier\n", ReportKind::race_waw},
          {"  cp_async_commit\n", "", ReportKind::race_waw},
          {"  shared_store %t, %r\n  barrier\n", "  shared_store %t, %r\n", ReportKind::race_raw},
          // 8: two buffers on the same bytes.
          {"offset = 1024", "offset = 512", ReportKind::race_waw},
      },
      {&x, &y, &z});
}

TEST_CASE("hazards of barrier objects are found from ir", "[sim][block][N1][B5]") {
  HostTensor x = small_tensor(Element::f32, {128}, 9), y(Element::f32, {128});
  std::string const t = "tile<128xf32, [register (1), lane (2) (4) (8) (16) (32), warp (64)]>";
  // 7: the bytes of a barrier are used for data when it is dead, after a barrier of all its users.
  std::string const sound = with(R"(kernel @reuse(%x: in tensor<?xf32>, %y: out tensor<?xf32>) warps = 2 {
  %0 = constant {value = 0 : i64} : i64
  %data = shared_alloc {align = 128, offset = 0} : shared<128xf32, dense>
  %full = shared_alloc {align = 8, offset = 512} : mbarrier
  %later = shared_alloc {align = 128, offset = 512} : shared<128xf32, dense>
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    yield
  }
  barrier
  elect {
    mbarrier_expect %full {bytes = 512}
    bulk_load %x, %data, %full, %0
    yield
  }
  mbarrier_wait %full, %0
  %v = shared_load %data : TILE
  barrier
  elect {
    mbarrier_inval %full
    yield
  }
  barrier
  shared_store %later, %v
  %w = shared_load %later : TILE
  store %y, %w, %0
  return
}
)",
                                 "TILE", t);
  check_planted(
      sound,
      {
          {"    mbarrier_inval %full\n", "", ReportKind::dead_barrier},
          {"  barrier\n  elect {\n    mbarrier_inval", "  elect {\n    mbarrier_inval", ReportKind::dead_barrier},
          {"  }\n  barrier\n  shared_store", "  }\n  shared_store", ReportKind::race_waw},
          {"    mbarrier_init %full\n", "    mbarrier_init %full\n    mbarrier_init %full\n", ReportKind::dead_barrier},
          {"bulk_load %x, %data, %full, %0\n", "", ReportKind::wrong_byte_count},
          {"mbarrier_expect %full {bytes = 512}", "mbarrier_expect %full {bytes = 512, arrive = false}",
           ReportKind::deadlock},
      },
      {&x, &y});
}

TEST_CASE("a report names both accesses by source line, and what is missing", "[sim][block][N1]") {
  HostTensor a = small_tensor(Element::bf16, {64, 256}, 1), b = small_tensor(Element::bf16, {256, 32}, 2),
             c(Element::f32, {64, 32});
  std::string text = ring;
  std::string const wait = "        %done = wgmma_wait %product : tile<64x32xf32, wgmma>\n";
  std::string const arrive =
      "        elect {warp = -1} {\n          mbarrier_arrive %e_c\n          yield\n        }\n";
  std::string const view = "        %e_c = view %empty, %stage_c : mbarrier\n";
  text = with(text, wait + view + arrive, view + arrive + wait);
  text =
      with(text, "tma_load %map_a, %to_a, %f, %row, %at", "tma_load %map_a, %to_a, %f, %row, %at loc(\"ring.cpp\":33)");
  text = with(text, "%fenced : pending<64x32xf32, wgmma>", "%fenced : pending<64x32xf32, wgmma> loc(\"ring.cpp\":41)");
  auto const module = module_of(text);
  auto const result = block::run(module.kernel(), views({&a, &b, &c}), BlockSchedule::latest());
  REQUIRE(result.has(ReportKind::race_war));
  std::string const report = result.str();
  INFO(report);
  CHECK_THAT(report, ContainsSubstring("add wgmma.wait_group that covers it, before the buffer is handed over"));
  CHECK_THAT(report, ContainsSubstring("earlier: read %ring_a[0]"));
  CHECK_THAT(report, ContainsSubstring("wgmma at ring.cpp:41 (ir "));
  CHECK_THAT(report, ContainsSubstring("tma_load at ring.cpp:33 (ir "));
  CHECK_THAT(report, ContainsSubstring("schedule latest, step "));
}

TEST_CASE("hazards of clusters are found from ir", "[sim][block][N1]") {
  // 15, 25: copies to both CTAs of a pair.
  HostTensor x = small_tensor(Element::f32, {2, 32}, 10), y(Element::f32, {4, 32});
  std::string const sound = R"(kernel @pair(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 1 cluster = 2 {
  %two = constant {value = 2 : i64} : i64
  grid %two
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %map = tensor_map %x {box = [1, 32]} : tensor_map<1x32xf32>
  %s = shared_alloc {align = 128} : shared<2x32xf32, dense>
  %full = shared_alloc {align = 8} : mbarrier
  %used = shared_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    mbarrier_init %used {arrivals = 2}
    fence_mbarrier_init
    yield
  }
  cluster_arrive
  cluster_wait
  %r = cluster_rank : i64
  %mine = view %s, %r, %0 : shared<32xf32, dense>
  elect {
    mbarrier_expect %full {bytes = 256}
    tma_load %map, %mine, %full, %r, %0 {multicast = 3}
    yield
  }
  mbarrier_wait %full, %0
  %a = shared_load %s : tile<2x32xf32, [register (1,0), lane (0,1) (0,2) (0,4) (0,8) (0,16)]>
  warp_barrier
  elect {
    mbarrier_arrive %used, %0
    mbarrier_arrive %used, %1
    yield
  }
  mbarrier_wait %used, %0 {scope = cluster}
  %row = mul %r, %two : i64
  store %y, %a, %row, %0
  cluster_arrive
  cluster_wait
  return
}
)";
  check_planted(sound,
                {
                    {"  cluster_arrive\n  cluster_wait\n  %r", "  %r", ReportKind::use_before_init},
                    {"mbarrier_wait %used, %0 {scope = cluster}", "mbarrier_wait %used, %0", ReportKind::wrong_scope},
                    {"{bytes = 256}", "{bytes = 128}", ReportKind::wrong_byte_count},
                    {"multicast = 3", "multicast = 1", ReportKind::wrong_byte_count},
                },
                {&x, &y});
}

TEST_CASE("hazards of parts that CTAs hand to each other are found from ir", "[sim][block][N1]") {
  // Two turns through one slot: the second CTA writes again only when the first one has read.
  HostTensor x = small_tensor(Element::f32, {2, 32}, 12), y(Element::f32, {1, 32});
  std::string const sound =
      R"(kernel @hand_over(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 1 cluster = 2 {
  %2 = constant {value = 2 : i64} : i64
  grid %2
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %s = shared_alloc {align = 128} : shared<32xf32, dense>
  %full = shared_alloc {align = 8} : mbarrier
  %empty = shared_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    mbarrier_init %empty
    fence_mbarrier_init
    yield
  }
  cluster_arrive
  cluster_wait
  %r = cluster_rank : i64
  %a = load %x, %r, %0 : tile<32xf32, [lane (1) (2) (4) (8) (16)]>
  %first = compare %r, %0 : bool
  for %i = %0 to %2 step %1 {
    if %first {
      elect {
        mbarrier_expect %full {bytes = 128}
        yield
      }
      mbarrier_wait %full, %i {scope = cluster}
      %b = shared_load %s : tile<32xf32, [lane (1) (2) (4) (8) (16)]>
      warp_barrier
      elect {
        mbarrier_arrive %empty, %1
        yield
      }
      %c = add %a, %b : tile<32xf32, [lane (1) (2) (4) (8) (16)]>
      store %y, %c, %0, %0
      yield
    } else {
      %before = xor %i, %1 : i64
      mbarrier_wait %empty, %before {scope = cluster}
      peer_store %s, %a, %full, %0
      yield
    }
    yield
  }
  if %first {
    yield
  } else {
    mbarrier_wait %empty, %1 {scope = cluster}
    yield
  }
  return
}
)";
  check_planted(sound,
                {
                    {"  cluster_arrive\n  cluster_wait\n", "", ReportKind::use_before_init},
                    {"      mbarrier_wait %full, %i {scope = cluster}\n", "", ReportKind::never_written},
                    {"      mbarrier_wait %empty, %before {scope = cluster}\n", "", ReportKind::race_war},
                    {"      warp_barrier\n", "", ReportKind::race_war},
                    {"    mbarrier_wait %empty, %1 {scope = cluster}\n", "", ReportKind::peer_lifetime},
                    {"{bytes = 128}", "{bytes = 64}", ReportKind::wrong_byte_count},
                    {"peer_store %s, %a, %full, %0", "peer_store %s, %a, %full, %2", ReportKind::misuse},
                },
                {&x, &y});
}

TEST_CASE("hazards of the register pool are found from ir", "[sim][block][N1]") {
  // 13: consumers ask for registers that a partition has to give back first; 384 threads start with 168 each.
  HostTensor y(Element::f32, {1});
  std::string const sound = R"(kernel @pool(%y: out tensor<?xf32>) warps = 12 {
  %0 = constant {value = 0 : i64} : i64
  warp_specialize {warps = [4, 4], replicas = [1, 2], registers = [40, 232]} (%p: i64) {
    %first = constant {value = 1 : f32} : tile<1xf32, [lane (0) (0) (0) (0) (0), warp (0) (0)]>
    store %y, %first, %0
    yield
  } and (%g: i64) {
    yield
  }
  return
}
)";
  check_planted(
      sound, {{"[40, 232]", "[0, 232]", ReportKind::deadlock}, {"[40, 232]", "[40, 240]", ReportKind::deadlock}}, {&y});
}

TEST_CASE("hazards of a grid before are found from ir", "[sim][block][N1]") {
  HostTensor x = small_tensor(Element::f32, {32}, 11), y(Element::f32, {32});
  std::string const t = "tile<32xf32, [lane (1) (2) (4) (8) (16)]>";
  std::string const sound = with(R"(kernel @after(%x: in tensor<?xf32>, %y: out tensor<?xf32>) warps = 1 {
  %0 = constant {value = 0 : i64} : i64
  launch_dependents
  wait_dependencies
  %a = load %x, %0 : TILE
  store %y, %a, %0
  return
}
)",
                                 "TILE", t);
  check_planted(sound,
                {{"  wait_dependencies\n  %a = load %x, %0 : " + t + "\n",
                  "  %a = load %x, %0 : " + t + "\n  wait_dependencies\n", ReportKind::race_raw}},
                {&x, &y});
}

TEST_CASE("races between blocks are found from ir", "[sim][block]") {
  HostTensor y(Element::f32, {32});
  std::string const t = "tile<32xf32, [lane (1) (2) (4) (8) (16)]>";
  std::string const sound = with(R"(kernel @blocks(%y: out tensor<?xf32>) warps = 1 {
  %2 = constant {value = 2 : i64} : i64
  %16 = constant {value = 16 : i64} : i64
  grid %2
  %b = block_index : i64
  %one = constant {value = 1 : f32} : tile<16xf32, [lane (1) (2) (4) (8) (0)]>
  %at = mul %b, %16 : i64
  store %y, %one, %at
  return
}
)",
                                 "TILE", t);
  check_planted(sound, {{"%at = mul %b, %16", "%at = mul %b, %2", ReportKind::race_waw}}, {&y});
}
