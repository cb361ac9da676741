// Hazards within one CTA: accesses of both proxies, registers, buffers in turn, barrier objects.
#include "block_hazards.hpp"

using namespace tegula;
using namespace tegula::test;

TEST_CASE("hazards of generic and asynchronous accesses are found from ir", "[sim][block][N1]") {
  // x comes by a copy, ordinary accesses scale it in place, and a product with the identity's columns reads it. Then
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
  %buffer = buffer_alloc {align = 1024} : shared<64x64xbf16, swizzled(128)>
  %weights = buffer_alloc {align = 1024} : shared<64x16xbf16, swizzled(32)>
  %full = buffer_alloc {align = 8} : mbarrier
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
    %old = buffer_load %buffer : tile<64x64xbf16, wgmma_a>
    %twice = add %old, %old : tile<64x64xbf16, wgmma_a>
    buffer_store %buffer, %twice
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
                    // 19: the product reads bytes that ordinary stores wrote.
                    {fence, "    barrier\n    wgmma_fence\n", ReportKind::missing_proxy_fence},
                    {fence, "    fence_proxy_async\n    wgmma_fence\n", ReportKind::race_raw},
                    // 20: the next iteration's copy overwrites bytes that other warps still read.
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
  %buffer = buffer_alloc {align = 128} : shared<128xf32, dense>
  %full = buffer_alloc {align = 8} : mbarrier
  %empty = buffer_alloc {align = 8} : mbarrier
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
      %v = buffer_load %buffer : TILE
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

TEST_CASE("hazards of the operand registers of products are found from ir", "[sim][block][N1]") {
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
  %weights = buffer_alloc {align = 1024} : shared<64x16xbf16, swizzled(32)>
  %full = buffer_alloc {align = 8} : mbarrier
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

TEST_CASE("registers of a result are the same in each iteration", "[sim][block][N1]") {
  HostTensor x = small_tensor(Element::bf16, {64, 64}, 1), w = small_tensor(Element::bf16, {64, 16}, 2),
             y(Element::f32, {192, 16});
  std::string const sound =
      R"(kernel @k(%x: in tensor<?x?xbf16>, %w: in tensor<?x?xbf16> {unit_inner, aligned_16}, %y: out tensor<?x?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %3 = constant {value = 3 : i64} : i64
  %64 = constant {value = 64 : i64} : i64
  %map_w = tensor_map %w {box = [64, 16], swizzle = b32} : tensor_map<64x16xbf16>
  %weights = buffer_alloc {align = 1024} : shared<64x16xbf16, swizzled(32)>
  %full = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    mbarrier_expect %full {bytes = 2048}
    tma_load %map_w, %weights, %full, %0, %0
    yield
  }
  barrier
  mbarrier_wait %full, %0
  %raw = load %x, %0, %0 : tile<64x64xbf16, wgmma_a>
  %a = wgmma_fence %raw : tile<64x64xbf16, wgmma_a>
  for %i = %0 to %3 step %1 {
    %row = mul %i, %64 : i64
    wgmma_fence
    %p = wgmma %a, %weights : pending<64x16xf32, wgmma>
    wgmma_commit
    %r = wgmma_wait %p : tile<64x16xf32, wgmma>
    wgmma_fence
    %q = wgmma %a, %weights : pending<64x16xf32, wgmma>
    wgmma_commit
    store %y, %r, %row, %0
    %s = wgmma_wait %q : tile<64x16xf32, wgmma>
    yield
  }
  return
}
)";
  // The first product writes to registers that the store of the turn before read after the second fence.
  check_planted(sound, {{"    wgmma_fence\n    %p", "    %p", ReportKind::missing_wgmma_fence}}, {&x, &w, &y});
}

TEST_CASE("hazards of shared buffers in loops are found from ir", "[sim][block][N1]") {
  HostTensor x = small_tensor(Element::f32, {256}, 8), y(Element::f32, {256}), z(Element::f32, {256});
  std::string const line = "[register (1), lane (2) (4) (8) (16) (32), warp (64) (128)]";
  std::string const other = "[register (128), lane (4) (8) (16) (32) (64), warp (1) (2)]";
  // 20, 26: a buffer that is written again in the next turn, and one that cp.async still fills.
  std::string sound = R"(kernel @turns(%x: in tensor<?xf32>, %y: out tensor<?xf32>, %z: out tensor<?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %3 = constant {value = 3 : i64} : i64
  %s = buffer_alloc {align = 128, offset = 0} : shared<256xf32, dense>
  %t = buffer_alloc {align = 128, offset = 1024} : shared<256xf32, dense>
  cp_async %x, %t, %0 {vector = 4}
  cp_async_commit
  %a = load %x, %0 : tile<256xf32, LINE>
  %r = for %i = %0 to %3 step %1 carry (%v = %a) : tile<256xf32, LINE> {
    buffer_store %s, %v
    barrier
    %w = buffer_load %s : tile<256xf32, OTHER>
    store %z, %w, %0
    barrier
    %u = add %v, %v : tile<256xf32, LINE>
    yield %u
  }
  cp_async_wait
  barrier
  buffer_store %t, %r
  barrier
  %last = buffer_load %t : tile<256xf32, OTHER>
  store %y, %last, %0
  return
}
)";
  sound = with(with(sound, "LINE", line), "OTHER", other);
  check_planted(
      sound,
      {
          {"    store %z, %w, %0\n    barrier\n", "    store %z, %w, %0\n", ReportKind::race_war},
          {"    barrier\n    %w = buffer_load", "    %w = buffer_load", ReportKind::race_raw},
          {"  cp_async_wait\n  barrier\n", "  barrier\n", ReportKind::race_waw},
          {"  cp_async_wait\n  barrier\n", "  cp_async_wait {pending = 1}\n  barrier\n", ReportKind::race_waw},
          {"  cp_async_commit\n", "", ReportKind::race_waw},
          {"  buffer_store %t, %r\n  barrier\n", "  buffer_store %t, %r\n", ReportKind::race_raw},
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
  %data = buffer_alloc {align = 128, offset = 0} : shared<128xf32, dense>
  %full = buffer_alloc {align = 8, offset = 512} : mbarrier
  %later = buffer_alloc {align = 128, offset = 512} : shared<128xf32, dense>
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
  %v = buffer_load %data : TILE
  barrier
  elect {
    mbarrier_inval %full
    yield
  }
  barrier
  buffer_store %later, %v
  %w = buffer_load %later : TILE
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
          {"  }\n  barrier\n  buffer_store", "  }\n  buffer_store", ReportKind::race_waw},
          {"    mbarrier_init %full\n", "    mbarrier_init %full\n    mbarrier_init %full\n", ReportKind::dead_barrier},
          {"bulk_load %x, %data, %full, %0\n", "", ReportKind::wrong_byte_count},
          {"mbarrier_expect %full {bytes = 512}", "mbarrier_expect %full {bytes = 512, arrive = false}",
           ReportKind::deadlock},
      },
      {&x, &y});
}

TEST_CASE("hazards of the register pool are found from ir", "[sim][block][N1]") {
  // 13: consumers ask for registers that a partition has to release first; 384 threads start with 168 each.
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

TEST_CASE("reductions that share a barrier read their memory after it", "[sim][block][N1]") {
  // The third sum writes where warps read the first one after the barrier of the second.
  HostTensor x = small_tensor(Element::f32, {2, 32}, 7), y(Element::f32, {1, 32});
  std::string const tile = "tile<2x32xf32, [lane (0,1) (0,2) (0,4) (0,8) (0,16), warp (1,0)]>",
                    line = "tile<1x32xf32, [lane (0,1) (0,2) (0,4) (0,8) (0,16), warp (0,0)]>";
  std::string const sound =
      "kernel @pairs(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 2 {\n"
      "  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0, %0 : " +
      tile + "\n  %b = reduce %a {scratch = 0} : " + line +
      "\n  %c = reduce %a {combine = max, scratch = 256} : " + line + "\n  %d = broadcast %b : " + tile +
      "\n  %e = broadcast %c : " + tile + "\n  %f = mul %d, %e : " + tile +
      "\n  barrier\n  %g = reduce %f {scratch = 0} : " + line + "\n  store %y, %g, %0, %0\n  return\n}\n";
  check_planted(sound, {{"  barrier\n", "", ReportKind::race_war}}, {&x, &y});
}
