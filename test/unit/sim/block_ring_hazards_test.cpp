// Hazards of a ring of stages between warps that copy and warps that multiply.
#include "block_hazards.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Runs a ring of two stages between a producer warp and one warpgroup. For a number of tiles along M it computes C (64
/// x 32) = A (64 x K) * B (K x 32). Each warp of the consumers gives stages back.
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
  %ring_a = buffer_alloc {align = 1024} : shared<2x64x64xbf16, swizzled(128)>
  %ring_b = buffer_alloc {align = 1024} : shared<2x64x32xbf16, swizzled(64)>
  %staging = buffer_alloc {align = 1024} : shared<64x32xf32, swizzled(128)>
  %full = buffer_alloc {align = 8} : mbarrier<2>
  %empty = buffer_alloc {align = 8} : mbarrier<2>
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
      buffer_store %staging, %acc
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
          // 1, 16, 21: the stage is released before the product has read it.
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
          {"%staging = buffer_alloc {align = 1024}", "%staging = buffer_alloc {align = 128, offset = 40064}",
           ReportKind::misaligned},
          // 5: a barrier that not all its threads reach.
          {"      barrier %1 {threads = 128}\n      buffer_store",
           "      barrier %1 {threads = 160}\n      buffer_store", ReportKind::deadlock},
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

TEST_CASE("a report names both accesses by source line, and the missing op", "[sim][block][N1]") {
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
  CHECK_THAT(report, ContainsSubstring("add wgmma.wait_group that covers it, before the buffer is released"));
  CHECK_THAT(report, ContainsSubstring("earlier: read %ring_a[0]"));
  CHECK_THAT(report, ContainsSubstring("wgmma at ring.cpp:41 (ir "));
  CHECK_THAT(report, ContainsSubstring("tma_load at ring.cpp:33 (ir "));
  CHECK_THAT(report, ContainsSubstring("schedule latest, step "));
}
