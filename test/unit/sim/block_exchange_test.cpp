// Tests ops by which warps and CTAs exchange data: shared memory, copies, barriers, clusters, products, atomics.
#include <fmt/format.h>

#include "block_ops.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

void shared_tiles() {
  // Through a swizzled tile, written row-major and read transposed, and a scalar handed from one lane to all.
  HostTensor x = small_tensor(Element::f32, {64, 32}, 10), y(Element::f32, {32, 64});
  std::string const t = "tile<64x32xf32, " + matrix + ">";
  std::string const other =
      "tile<32x64xf32, [register (0,1) (0,2) (0,32) (16,0), lane (0,4) (0,8) (0,16) (1,0) (2,0), warp (4,0) (8,0)]>";
  run_clean(
      "kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 4 {\n"
      "  %0 = constant {value = 0 : i64} : i64\n  %one = constant {value = 1 : i64} : i64\n"
      "  %s = buffer_alloc {align = 1024} : shared<2x64x32xf32, swizzled(128)>\n"
      "  %c = buffer_alloc : shared<4xf32, dense>\n"
      "  %v = view %s, %one, %0, %0 : shared<64x32xf32, swizzled(128)>\n"
      "  %slot = view %c, %one : shared<1xf32, dense of 4>\n"
      "  %a = load %x, %0, %0 : " +
          t +
          "\n  buffer_store %v, %a\n"
          "  elect {\n    %five = constant {value = 5 : f32} : f32\n    buffer_store %slot, %five\n    yield\n  }\n"
          "  barrier\n  %k = buffer_load %slot : f32\n"
          "  %w = trans_view %v : shared<32x64xf32, swizzled_t(128)>\n  %b = buffer_load %w : " +
          other + "\n  %f = splat %k : " + other + "\n  %r = mul %b, %f : " + other +
          "\n  store %y, %r, %0, %0\n  return\n}\n",
      {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return 5 * x.number(i % 64 * 32 + i / 64); }) == "");
}

void logs() {
  // Each of two warps writes its own rows, where one is kept in shared memory too; a buffer ends.
  HostTensor y(Element::f32, {64});
  run_clean(R"(kernel @k(%y: out tensor<?xf32>) warps = 2 {
  %g = buffer_alloc {symbol = "tegula_profile"} : global<56xi64, dense>
  %s = buffer_alloc : shared<32xi64, dense>
  %l = profile_begin %g, %s {rows = 3, slots = 8} : i64
  %w = warp_index : i64
  record %w {name = "unheard"}
  profile_append %l, %w {name = "warp"}
  %0 = constant {value = 0 : i64} : i64
  %t = constant {value = 3 : f32} : tile<64xf32, [register, lane (1) (2) (4) (8) (16), warp (32)]>
  %b = buffer_alloc : shared<64xf32, dense>
  buffer_store %b, %t
  %u = buffer_load %b : tile<64xf32, [register, lane (1) (2) (4) (8) (16), warp (32)]>
  buffer_dealloc %b
  store %y, %u, %0
  profile_append %l {event = stop, name = "warp"}
  profile_end %l
  return
}
)",
            {&y});
  CHECK(first_wrong(y, [](std::int64_t) { return 3; }) == "");
}

void bulk_copies() {
  HostTensor x = small_tensor(Element::f32, {1024}, 11), y(Element::f32, {1024});
  run_clean(R"(kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>) warps = 1 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %256 = constant {value = 256 : i64} : i64
  %512 = constant {value = 512 : i64} : i64
  %s = buffer_alloc {align = 128} : shared<2x256xf32, dense>
  %b = buffer_alloc {align = 8} : mbarrier<2>
  elect {
    mbarrier_init %b
    fence_mbarrier_init
    yield
  }
  barrier
  %b0 = view %b, %0 : mbarrier
  %s0 = view %s, %0, %0 : shared<256xf32, dense>
  elect {
    mbarrier_expect %b0 {bytes = 1024}
    bulk_load %x, %s0, %b0, %512
    yield
  }
  mbarrier_wait %b0, %0
  %t = buffer_load %s0 : tile<256xf32, [register (32) (64) (128), lane (1) (2) (4) (8) (16)]>
  %u = add %t, %t : tile<256xf32, [register (32) (64) (128), lane (1) (2) (4) (8) (16)]>
  %s1 = view %s, %1, %0 : shared<256xf32, dense>
  buffer_store %s1, %u
  fence_proxy_async
  warp_barrier
  elect {
    bulk_store %y, %s1, %256
    bulk_commit
    bulk_wait
    mbarrier_inval %b
    yield
  }
  return
}
)",
            {&x, &y});
  for (std::int64_t i = 0; i < 256; ++i) CHECK(y.number(256 + i) == 2 * x.number(512 + i));
}

void tma_copies() {
  // A box that leaves the tensor on two sides: zeros come in, and elements outside are not written. Then a sum in
  // place.
  HostTensor x = small_tensor(Element::f32, {20, 40}, 12), y(Element::f32, {20, 40}), z(Element::f32, {32, 32});
  run_clean(R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>, %z: out tensor<?x?xf32>) warps = 1 {
  %0 = constant {value = 0 : i64} : i64
  %8 = constant {value = 8 : i64} : i64
  %16 = constant {value = 16 : i64} : i64
  %min4 = constant {value = -4 : i64} : i64
  %map = tensor_map %x {box = [32, 8], swizzle = b32} : tensor_map<32x8xf32>
  %out = tensor_map %y {box = [32, 8], swizzle = b32} : tensor_map<32x8xf32>
  %all = tensor_map %z {box = [16, 8], swizzle = b32} : tensor_map<16x8xf32>
  %s = buffer_alloc {align = 256} : shared<32x32xf32, swizzled(32)>
  %b = buffer_alloc {align = 8} : mbarrier
  prefetch %x, %8, %0 {box = [8, 32]}
  elect {
    prefetch_tensor_map %map
    tma_prefetch %map, %min4, %16
    mbarrier_init %b
    fence_mbarrier_init
    yield
  }
  barrier
  elect {
    mbarrier_expect %b {bytes = 4096}
    tma_load %map, %s, %b, %min4, %16 {cache = evict_first}
    yield
  }
  mbarrier_wait %b, %0
  elect {
    tma_store %out, %s, %0, %8
    tma_store %all, %s, %0, %0
    bulk_commit
    bulk_wait
    tma_reduce %all, %s, %0, %0 {combine = sum}
    bulk_commit
    bulk_wait
    yield
  }
  return
}
)",
            {&x, &y, &z});
  auto const loaded = [&](std::int64_t i, std::int64_t j) {  // element of the box
    std::int64_t const row = i - 4, col = j + 16;
    return row >= 0 && row < 20 && col < 40 ? x.number(row * 40 + col) : 0.0;
  };
  for (std::int64_t i = 0; i < 32; ++i)
    for (std::int64_t j = 0; j < 32; ++j) {
      CHECK(z.number(i * 32 + j) == 2 * loaded(i, j));
      if (i < 20) CHECK(y.number(i * 40 + j + 8) == loaded(i, j));
    }
}

void old_copies() {
  HostTensor x = small_tensor(Element::f32, {30, 32}, 13), y(Element::f32, {64, 32});
  std::string const text = R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %s = buffer_alloc {align = 1024} : shared<64x32xf32, swizzled(128)>
  %b = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %b {arrivals = 128}
    fence_mbarrier_init
    yield
  }
  barrier
  cp_async %x, %s, %0, %0 {vector = 4}
WAIT
  %a = buffer_load %s : tile<64x32xf32, MATRIX>
  store %y, %a, %0, %0
  return
}
)";
  for (std::string const wait :
       {"  cp_async_commit\n  cp_async_wait\n  barrier\n", "  cp_async_arrive %b\n  mbarrier_wait %b, %0\n",
        "  cp_async_arrive %b {counted = false}\n  mbarrier_arrive %b\n  mbarrier_wait %b, %0\n"}) {
    INFO(wait);
    run_clean(with(with(text, "WAIT\n", wait), "MATRIX", matrix), {&x, &y});
    CHECK(first_wrong(y, [&](std::int64_t i) { return i < 30 * 32 ? x.number(i) : 0.0; }) == "");
  }
}

void gathered_rows() {
  // Row r is row 3 r - 5, whose chunks eight lanes copy; four of eight warps have rows.
  HostTensor x = small_tensor(Element::f32, {30, 28}, 13), y(Element::f32, {64, 32});
  std::string const chunks =
      "tile<64x8xi32, [register (1,0) (2,0), lane (0,1) (0,2) (0,4) (4,0) (8,0), warp (16,0) (32,0)]>";
  std::string const text = R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 8 {
  %0 = constant {value = 0 : i64} : i64
  %s = buffer_alloc {align = 1024} : shared<64x32xf32, swizzled(128)>
  %b = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %b {arrivals = 256}
    fence_mbarrier_init
    yield
  }
  barrier
  %n = iota : CHUNKS
  %three = constant {value = 3 : i32} : CHUNKS
  %five = constant {value = 5 : i32} : CHUNKS
  %m = mul %n, %three : CHUNKS
  %r = sub %m, %five : CHUNKS
  fill {
    cp_async_gather %x, %s, %r, %0 {vector = 4}
    cp_async_arrive %b
    yield
  }
  mbarrier_wait %b, %0
  %a = buffer_load %s : tile<64x32xf32, MATRIX>
  store %y, %a, %0, %0
  return
}
)";
  std::string all =
      with(with(text, "MATRIX", matrix), "warp (16,0) (32,0)]>\n  store", "warp (16,0) (32,0) (0,0)]>\n  store");
  while (all.find("CHUNKS") != std::string::npos) all = with(all, "CHUNKS", chunks);
  run_clean(all, {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) {
          std::int64_t const row = i / 32 * 3 - 5, column = i % 32;
          return row >= 0 && row < 30 && column < 28 ? x.number(row * 28 + column) : 0.0;
        }) == "");
}

void covered_rows() {
  // Rows of 108 bytes begin anywhere in a piece of 16 bytes.
  HostTensor x = small_tensor(Element::f32, {30, 27}, 17), y(Element::f32, {64, 32});
  std::string const text = R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 8 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %3 = constant {value = 3 : i64} : i64
  %s = buffer_alloc {align = 16} : shared<64x36xf32, dense>
  %b = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %b {arrivals = 256}
    fence_mbarrier_init
    yield
  }
  barrier
  fill {
    cp_async_cover %x, %s, %1, %3
    cp_async_arrive %b
    yield
  }
  mbarrier_wait %b, %0
  %a = shifted_load %s, %x, %1, %3 : tile<64x32xf32, MATRIX>
  store %y, %a, %0, %0
  return
}
)";
  run_clean(with(with(text, "MATRIX", matrix), "warp (16,0) (32,0)]>\n  store", "warp (16,0) (32,0) (0,0)]>\n  store"),
            {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) {
          std::int64_t const row = i / 32 + 1, column = i % 32 + 3;
          return row < 30 && column < 27 ? x.number(row * 27 + column) : 0.0;
        }) == "");
}

void named_barriers() {
  // Two groups hand a number back and forth: arrive by one, sync by the other.
  HostTensor y(Element::f32, {1});
  run_clean(R"(kernel @k(%y: out tensor<?xf32>) warps = 2 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %2 = constant {value = 2 : i64} : i64
  %s = buffer_alloc : shared<1xf32, dense>
  launch_dependents
  warp_specialize {warps = [1, 1], replicas = [1, 1], registers = [0, 0]} (%p: i64) {
    elect {
      %three = constant {value = 3 : f32} : f32
      buffer_store %s, %three
      yield
    }
    warp_barrier
    barrier_arrive %1 {threads = 64}
    barrier %2 {threads = 64}
    %v = buffer_load %s : f32
    %t = splat %v : tile<1xf32, [lane (0) (0) (0) (0) (0)]>
    wait_dependencies
    store %y, %t, %0
    yield
  } and (%q: i64) {
    barrier %1 {threads = 64}
    elect {
      %u = buffer_load %s : f32
      %w = add %u, %u : f32
      buffer_store %s, %w
      yield
    }
    warp_barrier
    barrier_arrive %2 {threads = 64}
    yield
  }
  return
}
)",
            {&y});
  CHECK(y.number(0) == 6);
}

void clusters() {
  // Each CTA of a pair loads half of the bytes that both get, and tells the other when its copy is used up.
  HostTensor x = small_tensor(Element::f32, {2, 32}, 14), y(Element::f32, {4, 32});
  run_clean(R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 1 cluster = 2 {
  %two = constant {value = 2 : i64} : i64
  grid %two
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %map = tensor_map %x {box = [1, 32]} : tensor_map<1x32xf32>
  %s = buffer_alloc {align = 128} : shared<2x32xf32, dense>
  %full = buffer_alloc {align = 8} : mbarrier
  %used = buffer_alloc {align = 8} : mbarrier
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
  mbarrier_wait %full, %0 {scope = cluster}
  %a = buffer_load %s : tile<2x32xf32, [register (1,0), lane (0,1) (0,2) (0,4) (0,8) (0,16)]>
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
)",
            {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return x.number(i % 64); }) == "");
}

void peers() {
  // The second CTA of a pair hands its row to the first one, which counts the bytes and adds its own.
  HostTensor x = small_tensor(Element::f32, {2, 128}, 17), y(Element::f32, {1, 128});
  run_clean(R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 1 cluster = 2 {
  %two = constant {value = 2 : i64} : i64
  grid %two
  %0 = constant {value = 0 : i64} : i64
  %s = buffer_alloc {align = 128} : shared<128xf32, dense>
  %full = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    yield
  }
  cluster_arrive
  cluster_wait
  %r = cluster_rank : i64
  %a = load %x, %r, %0 : tile<128xf32, [register (1) (2), lane (4) (8) (16) (32) (64)]>
  %first = compare %r, %0 : bool
  if %first {
    elect {
      mbarrier_expect %full {bytes = 512}
      yield
    }
    mbarrier_wait %full, %0 {scope = cluster}
    %b = buffer_load %s : tile<128xf32, [register (1) (2), lane (4) (8) (16) (32) (64)]>
    %c = add %a, %b : tile<128xf32, [register (1) (2), lane (4) (8) (16) (32) (64)]>
    store %y, %c, %0, %0
    yield
  } else {
    peer_store %s, %a, %full, %0
    yield
  }
  return
}
)",
            {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return x.number(i) + x.number(128 + i); }) == "");
}

/// Computes C = A * B with A and B read from shared memory, or A from registers; B as stored [k][n] or [n][k].
void wgmma(bool from_registers, bool b_transposed, Element element) {
  std::int64_t const k = element == Element::f32 ? 32 : 64;
  HostTensor a = small_tensor(element, {64, k}, 15);
  HostTensor b = small_tensor(element, b_transposed ? Extents{32, k} : Extents{k, 32}, 16), c(Element::f32, {64, 32});
  std::string const e(tegula::name(element)), ks = fmt::to_string(k);
  std::string const width = element == Element::f32 ? "128" : "64";
  std::string text =
      R"(kernel @k(%a: in tensor<?x?xELEMENT>, %b: in tensor<?x?xELEMENT>, %c: out tensor<?x?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %sa = buffer_alloc {align = 1024} : shared<64xDEPTHxELEMENT, swizzled(128)>
  %sb = buffer_alloc {align = 1024} : shared<BSHAPExELEMENT, BLAYOUT>
  %map_a = tensor_map %a {box = [64, DEPTH], swizzle = b128} : tensor_map<64xDEPTHxELEMENT>
  %map_b = tensor_map %b {box = [BBOX], swizzle = BSWIZZLE} : tensor_map<BSHAPExELEMENT>
  %full = buffer_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %full
    fence_mbarrier_init
    yield
  }
  barrier
  elect {
    mbarrier_expect %full {bytes = BYTES}
    tma_load %map_a, %sa, %full, %0, %0
    tma_load %map_b, %sb, %full, %0, %0
    yield
  }
  mbarrier_wait %full, %0
VIEWS
  %one = constant {value = 1 : f32} : tile<64x32xf32, wgmma>
  %no = constant {value = false : bool} : bool
  %start = wgmma_fence %one : tile<64x32xf32, wgmma>
  %p = wgmma %left, %right, %start : pending<64x32xf32, wgmma>
  %q = wgmma %left, %right, %p : pending<64x32xf32, wgmma>
  wgmma_commit
  %r, %kept = wgmma_wait %q, %alive : tile<64x32xf32, wgmma>, ALIVE
  store %c, %r, %0, %0
  return
}
)";
  std::string const views =
      std::string(from_registers ? "  %raw = buffer_load %sa : tile<64xDEPTHxELEMENT, wgmma_a>\n"
                                   "  %left = wgmma_fence %raw : tile<64xDEPTHxELEMENT, wgmma_a>\n"
                                 : "  %left = view %sa, %0, %0 : shared<64xDEPTHxELEMENT, swizzled(128)>\n") +
      (b_transposed ? "  %right = trans_view %sb : shared<DEPTHx32xELEMENT, swizzled_t(128)>\n"
                    : "  %right = view %sb, %0, %0 : shared<DEPTHx32xELEMENT, BLAYOUT>\n");
  text = with(text, "VIEWS\n", views);
  if (from_registers) {
    text = with(with(text, "ALIVE", "tile<64xDEPTHxELEMENT, wgmma_a>"), "%alive", "%left");
  } else {
    text = with(with(text, "%r, %kept = wgmma_wait %q, %alive", "%r = wgmma_wait %q"), ", ALIVE", "");
  }
  std::int64_t const size = bytes(element);
  text = with(text, "BYTES", fmt::to_string((64 + 32) * k * size));
  text = with(text, "BSHAPE", b_transposed ? "32xDEPTH" : "DEPTHx32");
  text = with(text, "BBOX", b_transposed ? "32, DEPTH" : "DEPTH, 32");
  text = with(text, "BLAYOUT", b_transposed ? "swizzled(128)" : "swizzled(" + width + ")");
  text = with(text, "BSWIZZLE", b_transposed ? "b128" : "b" + width);
  text = with(with(text, "DEPTH", ks), "ELEMENT", e);
  run_clean(text, {&a, &b, &c});
  CHECK(first_wrong(c, [&](std::int64_t i) {
          double sum = 0;
          for (std::int64_t x = 0; x < k; ++x)
            sum += a.number(i / 32 * k + x) * (b_transposed ? b.number(i % 32 * k + x) : b.number(x * 32 + i % 32));
          return 1 + 2 * sum;
        }) == "");
}

void products() {
  for (bool const from_registers : {false, true}) {
    for (bool const b_transposed : {false, true}) {
      wgmma(from_registers, b_transposed, Element::bf16);
      wgmma(from_registers, b_transposed, Element::f16);
    }
    wgmma(from_registers, true, Element::f32);
  }
  HostTensor a = small_tensor(Element::bf16, {64, 32}, 17), b = small_tensor(Element::bf16, {32, 16}, 18),
             c(Element::f32, {64, 16});
  run_clean(R"(kernel @k(%a: in tensor<?x?xbf16>, %b: in tensor<?x?xbf16>, %c: out tensor<?x?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %x = load %a, %0, %0 : tile<64x32xbf16, mma_a>
  %y = load %b, %0, %0 : tile<32x16xbf16, mma_b>
  %z = constant {value = 0.5 : f32} : tile<64x16xf32, mma>
  %d = mma %x, %y, %z : tile<64x16xf32, mma>
  %w = constant {value = 0 : f32} : tile<64x32xf32, wgmma>
  %part = extract %w {offsets = [0, 16]} : tile<64x16xf32, wgmma>
  %sum = convert_layout %part : tile<64x16xf32, mma>
  %e = add %d, %sum : tile<64x16xf32, mma>
  store %c, %e, %0, %0
  return
}
)",
            {&a, &b, &c});
  CHECK(first_wrong(c, [&](std::int64_t i) {
          double sum = 0.5;
          for (std::int64_t k = 0; k < 32; ++k) sum += a.number(i / 16 * 32 + k) * b.number(k * 16 + i % 16);
          return sum;
        }) == "");
}

void atomics() {
  HostTensor count(Element::i64, {1}), seen(Element::i64, {12}), sum(Element::f32, {1});
  count.set_integer(0, 0);
  sum.set_number(0, 0);
  run_clean(R"(kernel @k(%count: inout tensor<?xi64>, %sum: inout tensor<?xf32>) warps = 4 {
  %3 = constant {value = 3 : i64} : i64
  grid %3
  %0 = constant {value = 0 : i64} : i64
  %half = constant {value = 0.5 : f32} : f32
  elect {warp = -1} {
    %old = atomic %count, %3, %0 {kind = increment} : i64
    %was = atomic %sum, %half, %0 {kind = add} : f32
    yield
  }
  return
}
)",
            {&count, &sum});
  CHECK(count.integer(0) == 0);  // 12 increments of a counter that starts again after 3
  CHECK(sum.number(0) == 6);
}

/// Gathers, scatters and changes elements at indices, some outside; the CTAs change the same counters.
void indices() {
  std::string const layout = "[lane (1) (2) (4) (8) (16), warp (32)]";
  std::string const text =
      R"(kernel @k(%x: in tensor<?xi32>, %at: in tensor<?xi32>, %y: inout tensor<?xi32>, %n: inout tensor<?xi32>) warps = 2 {
  %3 = constant {value = 3 : i64} : i64
  grid %3
  %0 = constant {value = 0 : i64} : i64
  %64 = constant {value = 64 : i64} : i64
  %b = block_index : i64
  %here = mul %b, %64 : i64
  %i = load %at, %here : tile<64xi32, LAYOUT>
  %first = load %at, %here : i32
  %v = gather %x, %i {pad = 5 : i32} : tile<64xi32, LAYOUT>
  %o = splat %here : tile<64xi64, LAYOUT>
  %k = iota : tile<64xi64, LAYOUT>
  %own = add %k, %o : tile<64xi64, LAYOUT>
  %f = splat %first : tile<64xi32, LAYOUT>
  %sum = add %v, %f : tile<64xi32, LAYOUT>
  scatter %y, %sum, %own
  %one = constant {value = 1 : i32} : tile<64xi32, LAYOUT>
  %zero = constant {value = 0 : i32} : tile<64xi32, LAYOUT>
  %old = atomic_update %n, %one, %i : tile<64xi32, LAYOUT>
  %was = compare_exchange %n, %zero, %one, %i : tile<64xi32, LAYOUT>
  return
}
)";
  HostTensor x(Element::i32, {20}), at(Element::i32, {192}), y(Element::i32, {192}), n(Element::i32, {20});
  std::mt19937_64 random(7);
  std::vector<double> counted(20, 0);
  for (int i = 0; i < 20; ++i) {
    x.set_integer(i, 100 + i);
    n.set_integer(i, 0);
  }
  for (int i = 0; i < 192; ++i) {
    auto const index = static_cast<std::int64_t>(random() % 24) - 2;
    at.set_integer(i, index);
    y.set_integer(i, 0);
    if (index >= 0 && index < 20) ++counted[static_cast<std::size_t>(index)];
  }
  // The simulation is swept over schedules, each from the same memory.
  run_clean(with(text, "LAYOUT", layout), {&x, &at, &y, &n});
  CHECK(first_wrong(y, [&](std::int64_t i) {
          std::int64_t const index = at.integer(i);
          return (index >= 0 && index < 20 ? 100.0 + static_cast<double>(index) : 5.0) +
                 static_cast<double>(at.integer(i / 64 * 64));
        }) == "");
  CHECK(first_wrong(n, [&](std::int64_t i) { return counted[static_cast<std::size_t>(i)]; }) == "");
}

}  // namespace

void tegula::test::check_exchange() {
  for (auto const check : {shared_tiles, logs, bulk_copies, tma_copies, old_copies, gathered_rows, covered_rows,
                           named_barriers, clusters, peers, atomics, indices, products})
    check();
}

TEST_CASE("warps exchange through shared memory and copies", "[sim][block]") {
  shared_tiles();
  bulk_copies();
  tma_copies();
  old_copies();
}

TEST_CASE("warps meet at barriers, in a CTA and in a cluster", "[sim][block]") {
  named_barriers();
  clusters();
  peers();
  atomics();
}

TEST_CASE("warps gather, scatter and change elements at indices", "[sim][block]") { indices(); }

TEST_CASE("tensor cores multiply fragments and shared tiles", "[sim][block]") { products(); }
