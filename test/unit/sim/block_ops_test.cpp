// Each op on its own, run by warps: values against what it says, under a few schedules of every kind.
#include <algorithm>

#include "block_support.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// Four warps, 256 elements, two adjacent ones per thread.
constexpr auto line = "[register (1), lane (2) (4) (8) (16) (32), warp (64) (128)]";
/// The same in another order: adjacent elements lie in different warps.
constexpr auto scattered = "[register (128), lane (4) (8) (16) (32) (64), warp (1) (2)]";
/// Within the warp: lanes fastest.
constexpr auto lanes_first = "[register (32), lane (1) (2) (4) (8) (16), warp (64) (128)]";

/// A kernel of x and y with `body` between the load %a of 256 elements and the store of %r.
std::string map_line(std::string const& body, std::string const& element = "f32", std::string const& out = "f32") {
  return "kernel @k(%x: in tensor<?x" + element + ">, %y: out tensor<?x" + out +
         ">) warps = 4 {\n  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0 : tile<256x" + element + ", " +
         line + ">\n" + body + "  store %y, %r, %0\n  return\n}\n";
}
std::string tile(std::string const& element, std::string const& layout = line) {
  return "tile<256x" + element + ", " + layout + ">";
}

void arithmetic() {
  HostTensor x = small_tensor(Element::f32, {256}, 1), y(Element::f32, {256});
  std::string const t = tile("f32"), b = tile("bool"), i = tile("i32");
  run_clean(map_line("  %two = constant {value = 2 : f32} : " + t + "\n  %c = add %a, %two : " + t +
                     "\n  %d = mul %c, %c : " + t + "\n  %e = sub %d, %a : " + t + "\n  %f = neg %e : " + t +
                     "\n  %g = abs %f : " + t + "\n  %h = max %g, %two : " + t + "\n  %j = min %h, %g : " + t +
                     "\n  %k = compare %j, %two {predicate = lt} : " + b + "\n  %l = not %k : " + b +
                     "\n  %m = select %l, %j, %two : " + t + "\n  %n = div %m, %two : " + t + "\n  %o = floor %n : " +
                     t + "\n  %p = round %o : " + t + "\n  %q = cast %p : " + i + "\n  %s = cast %q : " + t +
                     "\n  %u = add %s, %n : " + t + "\n  %r = fma %a, %two, %u : " + t + "\n"),
            {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t at) {
          double const a = x.number(at), e = std::abs((a + 2) * (a + 2) - a), j = std::min(std::max(e, 2.0), e);
          double const n = (j < 2 ? 2 : j) / 2;
          return std::floor(n) + n + 2 * a;
        }) == "");
}

void integers() {
  HostTensor x(Element::i32, {256}), y(Element::i32, {256});
  for (std::int64_t i = 0; i < 256; ++i) x.set_integer(i, i * 7 - 300);
  std::string const t = tile("i32"), f = tile("f32");
  run_clean(
      map_line("  %two = constant {value = 2 : i32} : " + t + "\n  %three = constant {value = 3 : i32} : " + t +
                   "\n  %b = and %a, %three : " + t + "\n  %c = or %b, %two : " + t + "\n  %d = xor %c, %a : " + t +
                   "\n  %e = shl %d, %two : " + t + "\n  %f = shr %e, %two : " + t + "\n  %g = rem %f, %three : " + t +
                   "\n  %h = ceil_div %a, %three : " + t + "\n  %j = bitcast %h : " + f + "\n  %k = bitcast %j : " + t +
                   "\n  %r = add %g, %k : " + t + "\n",
               "i32", "i32"),
      {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t at) {
          std::int64_t const a = x.integer(at), d = ((a & 3) | 2) ^ a;
          auto const quotient = static_cast<std::int64_t>(std::ceil(static_cast<double>(a) / 3));
          return static_cast<double>(d % 3 + quotient);
        }) == "");
}

void elementary() {
  HostTensor x = small_tensor(Element::f32, {256}, 3), y(Element::f32, {256});
  std::string const t = tile("f32");
  run_clean(map_line("  %b = exp %a : " + t + "\n  %c = log %b : " + t + "\n  %d = exp2 %c : " + t +
                     "\n  %e = log2 %d : " + t + "\n  %f = mul %e, %e : " + t + "\n  %g = exp2 %f : " + t +
                     "\n  %h = sqrt %g : " + t + "\n  %r = rsqrt %h : " + t + "\n"),
            {&x, &y});
  for (std::int64_t i = 0; i < 256; ++i) {
    double const wanted = std::pow(2.0, -x.number(i) * x.number(i) / 4);
    CHECK(std::abs(y.number(i) - wanted) <= 1e-4 * wanted);
  }
}

void conversions() {
  HostTensor x = small_tensor(Element::f32, {256}, 4), y(Element::f32, {256});
  for (std::string const layout : {scattered, lanes_first}) {
    INFO(layout);
    // Through the other layout and back, with arithmetic on both sides.
    run_clean(map_line("  %b = convert_layout %a : " + tile("f32", layout) + "\n  %c = add %b, %b : " +
                       tile("f32", layout) + "\n  %r = convert_layout %c : " + tile("f32") + "\n"),
              {&x, &y});
    CHECK(first_wrong(y, [&](std::int64_t i) { return 2 * x.number(i); }) == "");
    run_clean(map_line("  %r = convert_layout %a : " + tile("f32", layout) + "\n"), {&x, &y});
    CHECK(first_wrong(y, [&](std::int64_t i) { return x.number(i); }) == "");
  }
}

void reductions() {
  HostTensor x = small_tensor(Element::f32, {256}, 5), y(Element::f32, {1});
  std::string const one = "tile<1xf32, [lane (0) (0) (0) (0) (0), warp (0) (0)]>";
  for (std::string const kind : {"sum", "max", "min"}) {
    for (std::string const order : {"any", "pairwise"}) {
      run_clean(map_line("  %r = reduce %a {axis = 0, combine = " + kind + ", order = " + order + "} : " + one + "\n"),
                {&x, &y});
      double expected = x.number(0);
      for (std::int64_t i = 1; i < 256; ++i) {
        double const next = x.number(i);
        expected = kind == "sum"   ? expected + next
                   : kind == "max" ? std::max(expected, next)
                                   : std::min(expected, next);
      }
      CHECK(y.number(0) == expected);
    }
  }
}

/// 64 x 32 over four warps, 16 rows each; a row lies in four lanes with 8 elements each.
std::string const matrix =
    "[register (0,1) (0,2) (0,4) (8,0), lane (0,8) (0,16) (1,0) (2,0) (4,0), warp (16,0) (32,0)]";
std::string const column = "[register (8,0), lane (0,0) (0,0) (1,0) (2,0) (4,0), warp (16,0) (32,0)]";

void shapes() {
  HostTensor x = small_tensor(Element::f32, {64, 32}, 6), y(Element::f32, {64, 32});
  std::string const t = "tile<64x32xf32, " + matrix + ">", c = "tile<64x1xf32, " + column + ">";
  std::string const flat = "tile<64xf32, [register (8), lane (0) (0) (1) (2) (4), warp (16) (32)]>";
  std::string const turned =
      "[register (1,0) (2,0) (4,0) (0,8), lane (8,0) (16,0) (0,1) (0,2) (0,4), warp (0,16) (0,32)]";
  run_clean(
      "kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 4 {\n"
      "  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0, %0 : " +
          t + "\n  %m = reduce %a {axis = 1, combine = max} : " + c + "\n  %s = squeeze %m {axes = [1]} : " + flat +
          "\n  %e = expand_dims %s {axes = [1]} : " + c + "\n  %b = broadcast %e : " + t + "\n  %d = sub %a, %b : " +
          t + "\n  %i = iota {axis = 1} : tile<64x32xi32, " + matrix + ">\n  %f = cast %i : " + t +
          "\n  %one = constant {value = 1 : f32} : f32\n  %o = splat %one : " + t + "\n  %g = add %f, %o : " + t +
          "\n  %h = mul %d, %g : " + t + "\n  %tr = trans %h {permutation = [1, 0]} : tile<32x64xf32, " + turned +
          ">\n  %back = trans %tr {permutation = [1, 0]} : " + t + "\n  store %y, %back, %0, %0\n  return\n}\n",
      {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) {
          double most = -INFINITY;
          for (std::int64_t j = 0; j < 32; ++j) most = std::max(most, x.number(i / 32 * 32 + j));
          return (x.number(i) - most) * static_cast<double>(i % 32 + 1);
        }) == "");
}

void lanes_of_a_warp() {
  // fold leaves one element per lane along the axis; a butterfly over those two lane bits is then the row's sum.
  HostTensor x = small_tensor(Element::f32, {64, 32}, 7), y(Element::f32, {64, 4}), v(Element::i32, {4});
  std::string const t = "tile<64x32xf32, " + matrix + ">";
  std::string const f = "tile<64x4xf32, [register (8,0), lane (0,1) (0,2) (1,0) (2,0) (4,0), warp (16,0) (32,0)]>";
  run_clean(
      "kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>, %v: out tensor<?xi32>) warps = 4 {\n"
      "  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0, %0 : " +
          t + "\n  %b = fold %a {axis = 1, combine = sum} : " + f + "\n  %c = shuffle %b {mask = 1} : " + f +
          "\n  %d = add %b, %c : " + f + "\n  %e = shuffle %d {mask = 2} : " + f + "\n  %s = add %d, %e : " + f +
          "\n  store %y, %s, %0, %0\n"
          "  %w = warp_index : i64\n  %two = constant {value = 2 : i64} : i64\n"
          "  %rows = iota {axis = 0} : tile<64x4xi32, [register (8,0), lane (0,1) (0,2) (1,0) (2,0) (4,0), warp (16,0) "
          "(32,0)]>\n"
          "  %limit = constant {value = 20 : i32} : tile<64x4xi32, [register (8,0), lane (0,1) (0,2) (1,0) (2,0) "
          "(4,0), "
          "warp (16,0) (32,0)]>\n"
          "  %low = compare %rows, %limit {predicate = lt} : tile<64x4xbool, [register (8,0), lane (0,1) (0,2) (1,0) "
          "(2,0) (4,0), warp (16,0) (32,0)]>\n"
          "  %any = vote %low {kind = any} : bool\n  %all = vote %low {kind = all} : bool\n"
          "  %one32 = constant {value = 1 : i32} : i32\n  %none = constant {value = 0 : i32} : i32\n"
          "  %p = select %any, %one32, %none : i32\n  %q = select %all, %one32, %none : i32\n  %n = add %p, %q : i32\n"
          "  elect {warp = -1} {\n    %old = atomic %v, %n, %w {kind = exchange} : i32\n    yield\n  }\n"
          "  return\n}\n",
      {&x, &y, &v});
  CHECK(first_wrong(y, [&](std::int64_t i) {
          double sum = 0;
          for (std::int64_t j = 0; j < 32; ++j) sum += x.number(i / 4 * 32 + j);
          return sum;
        }) == "");
  // Warp 0 has rows 0..15, warp 1 rows 16..31, of which some are below 20.
  CHECK(first_wrong(v, [](std::int64_t i) { return i == 0 ? 2.0 : i == 1 ? 1.0 : 0.0; }) == "");
}

void control() {
  HostTensor x = small_tensor(Element::f32, {256}, 8), y(Element::f32, {256});
  std::string const t = tile("f32");
  run_clean(
      "function @twice(%v: " + t + ") -> (" + t + ") noinline {\n  %w = add %v, %v : " + t + "\n  return %w\n}\n" +
          map_line("  %n = extent %x : i64\n  %one = constant {value = 1 : i64} : i64\n"
                   "  %three = constant {value = 3 : i64} : i64\n  %b, %c = for %i = %0 to %three step %one carry "
                   "(%p = %a, %q = %a) : " +
                   t + ", " + t +
                   " {\n    %w = warp_index : i64\n"
                   "    %is = compare %i, %w {predicate = lt} : bool\n    %v = if %is : " +
                   t +
                   " {\n"
                   "      %u = call %p {callee = @twice} : " +
                   t +
                   "\n      yield %u\n    } else {\n"
                   "      yield %p\n    }\n    yield %q, %v\n  }\n  %r = add %b, %c : " +
                   t + "\n"),
      {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t at) {
          // Carried values change places at each step; a warp doubles as long as the step is below its number.
          double p = x.number(at), q = p;
          for (std::int64_t i = 0; i < 3; ++i) {
            double const v = i < at / 64 ? 2 * p : p;
            p = q;
            q = v;
          }
          return p + q;
        }) == "");
}

void grid() {
  HostTensor x = small_tensor(Element::f32, {1000}, 9), y(Element::f32, {1000});
  run_clean(
      "kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>) warps = 4 {\n"
      "  %n = extent %x : i64\n  %m = extent %y : i64\n  %same = compare %n, %m : bool\n"
      "  require %same {message = \"as many\"}\n  %256 = constant {value = 256 : i64} : i64\n"
      "  %tiles = ceil_div %n, %256 : i64\n  %sms = multiprocessors : i64\n  %g = min %tiles, %sms : i64\n"
      "  grid %g\n  %b = block_index : i64\n  %e = grid_extent : i64\n"
      "  %r = for %t = %b to %tiles step %e carry (%z = %b) : i64 {\n    %at = mul %t, %256 : i64\n"
      "    %a = load %x, %at {pad = 1 : f32} : " +
          tile("f32") + "\n    %c = add %a, %a : " + tile("f32") +
          "\n    store %y, %c, %at\n    yield %z\n  }\n  return\n}\n",
      {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return 2 * x.number(i); }) == "");
}

void shared_tiles() {
  // Through a swizzled tile, written row-major and read transposed, and a scalar handed from one lane to all.
  HostTensor x = small_tensor(Element::f32, {64, 32}, 10), y(Element::f32, {32, 64});
  std::string const t = "tile<64x32xf32, " + matrix + ">";
  std::string const other =
      "tile<32x64xf32, [register (0,1) (0,2) (0,32) (16,0), lane (0,4) (0,8) (0,16) (1,0) (2,0), warp (4,0) (8,0)]>";
  run_clean(
      "kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 4 {\n"
      "  %0 = constant {value = 0 : i64} : i64\n  %one = constant {value = 1 : i64} : i64\n"
      "  %s = shared_alloc {align = 1024} : shared<2x64x32xf32, swizzled(128)>\n"
      "  %c = shared_alloc : shared<4xf32, dense>\n"
      "  %v = view %s, %one, %0, %0 : shared<64x32xf32, swizzled(128)>\n"
      "  %slot = view %c, %one : shared<1xf32, dense of 4>\n"
      "  %a = load %x, %0, %0 : " +
          t +
          "\n  shared_store %v, %a\n"
          "  elect {\n    %five = constant {value = 5 : f32} : f32\n    shared_store %slot, %five\n    yield\n  }\n"
          "  barrier\n  %k = shared_load %slot : f32\n"
          "  %w = trans_view %v : shared<32x64xf32, swizzled_t(128)>\n  %b = shared_load %w : " +
          other + "\n  %f = splat %k : " + other + "\n  %r = mul %b, %f : " + other +
          "\n  store %y, %r, %0, %0\n  return\n}\n",
      {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return 5 * x.number(i % 64 * 32 + i / 64); }) == "");
}

void bulk_copies() {
  HostTensor x = small_tensor(Element::f32, {1024}, 11), y(Element::f32, {1024});
  run_clean(R"(kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>) warps = 1 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %256 = constant {value = 256 : i64} : i64
  %512 = constant {value = 512 : i64} : i64
  %s = shared_alloc {align = 128} : shared<2x256xf32, dense>
  %b = shared_alloc {align = 8} : mbarrier<2>
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
  %t = shared_load %s0 : tile<256xf32, [register (32) (64) (128), lane (1) (2) (4) (8) (16)]>
  %u = add %t, %t : tile<256xf32, [register (32) (64) (128), lane (1) (2) (4) (8) (16)]>
  %s1 = view %s, %1, %0 : shared<256xf32, dense>
  shared_store %s1, %u
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
  // A box that leaves the tensor on two sides: zeros come in, and what would go out is dropped. Then a sum in place.
  HostTensor x = small_tensor(Element::f32, {20, 40}, 12), y(Element::f32, {20, 40}), z(Element::f32, {32, 32});
  run_clean(R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>, %z: out tensor<?x?xf32>) warps = 1 {
  %0 = constant {value = 0 : i64} : i64
  %8 = constant {value = 8 : i64} : i64
  %16 = constant {value = 16 : i64} : i64
  %min4 = constant {value = -4 : i64} : i64
  %map = tensor_map %x {box = [32, 8], swizzle = b32} : tensor_map<32x8xf32>
  %out = tensor_map %y {box = [32, 8], swizzle = b32} : tensor_map<32x8xf32>
  %all = tensor_map %z {box = [16, 8], swizzle = b32} : tensor_map<16x8xf32>
  %s = shared_alloc {align = 256} : shared<32x32xf32, swizzled(32)>
  %b = shared_alloc {align = 8} : mbarrier
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
  %s = shared_alloc {align = 1024} : shared<64x32xf32, swizzled(128)>
  %b = shared_alloc {align = 8} : mbarrier
  elect {
    mbarrier_init %b {arrivals = 128}
    fence_mbarrier_init
    yield
  }
  barrier
  cp_async %x, %s, %0, %0 {vector = 4}
WAIT
  %a = shared_load %s : tile<64x32xf32, MATRIX>
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

void named_barriers() {
  // Two groups hand a number back and forth: arrive by one, sync by the other.
  HostTensor y(Element::f32, {1});
  run_clean(R"(kernel @k(%y: out tensor<?xf32>) warps = 2 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %2 = constant {value = 2 : i64} : i64
  %s = shared_alloc : shared<1xf32, dense>
  launch_dependents
  warp_specialize {warps = [1, 1], replicas = [1, 1], registers = [0, 0]} (%p: i64) {
    elect {
      %three = constant {value = 3 : f32} : f32
      shared_store %s, %three
      yield
    }
    warp_barrier
    barrier_arrive %1 {threads = 64}
    barrier %2 {threads = 64}
    %v = shared_load %s : f32
    %t = splat %v : tile<1xf32, [lane (0) (0) (0) (0) (0)]>
    wait_dependencies
    store %y, %t, %0
    yield
  } and (%q: i64) {
    barrier %1 {threads = 64}
    elect {
      %u = shared_load %s : f32
      %w = add %u, %u : f32
      shared_store %s, %w
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
  // Each CTA of a pair loads half of what both get, and tells the other when its copy is used up.
  HostTensor x = small_tensor(Element::f32, {2, 32}, 14), y(Element::f32, {4, 32});
  run_clean(R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 1 cluster = 2 {
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
  mbarrier_wait %full, %0 {scope = cluster}
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
  %s = shared_alloc {align = 128} : shared<128xf32, dense>
  %full = shared_alloc {align = 8} : mbarrier
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
    %b = shared_load %s : tile<128xf32, [register (1) (2), lane (4) (8) (16) (32) (64)]>
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

/// C = A * B with A and B read from shared memory, or A from registers; B as stored [k][n] or [n][k].
void wgmma(bool from_registers, bool b_transposed, Element element) {
  std::int64_t const k = element == Element::f32 ? 32 : 64;
  HostTensor a = small_tensor(element, {64, k}, 15);
  HostTensor b = small_tensor(element, b_transposed ? Extents{32, k} : Extents{k, 32}, 16), c(Element::f32, {64, 32});
  std::string const e(tegula::name(element)), ks = std::to_string(k);
  std::string const width = element == Element::f32 ? "128" : "64";
  std::string text =
      R"(kernel @k(%a: in tensor<?x?xELEMENT>, %b: in tensor<?x?xELEMENT>, %c: out tensor<?x?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %sa = shared_alloc {align = 1024} : shared<64xDEPTHxELEMENT, swizzled(128)>
  %sb = shared_alloc {align = 1024} : shared<BSHAPExELEMENT, BLAYOUT>
  %map_a = tensor_map %a {box = [64, DEPTH], swizzle = b128} : tensor_map<64xDEPTHxELEMENT>
  %map_b = tensor_map %b {box = [BBOX], swizzle = BSWIZZLE} : tensor_map<BSHAPExELEMENT>
  %full = shared_alloc {align = 8} : mbarrier
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
      std::string(from_registers ? "  %raw = shared_load %sa : tile<64xDEPTHxELEMENT, wgmma_a>\n"
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
  text = with(text, "BYTES", std::to_string((64 + 32) * k * size));
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

void specialized() {
  // Registers change hands and groups are numbered; GEMM and others use the rest.
  HostTensor y(Element::i32, {12});
  run_clean(R"(kernel @k(%y: out tensor<?xi32>) warps = 12 {
  %4 = constant {value = 4 : i64} : i64
  warp_specialize {warps = [4, 4], replicas = [1, 2], registers = [40, 232]} (%p: i64) {
    yield
  } and (%g: i64) {
    %w = warp_index : i64
    %first = mul %g, %4 : i64
    %at0 = add %first, %w : i64
    %at = add %at0, %4 : i64
    %v0 = cast %at : i32
    %v = splat %v0 : tile<1xi32, [lane (0) (0) (0) (0) (0)]>
    store %y, %v, %at
    yield
  }
  return
}
)",
            {&y});
  for (std::int64_t i = 4; i < 12; ++i) CHECK(y.integer(i) == i);
}

void repeating() {
  // Warp w runs the block w + 1 times; a block runs once though its first value is false.
  HostTensor y(Element::i32, {4}), z(Element::f32, {256});
  run_clean(with(R"(kernel @k(%y: out tensor<?xi32>, %z: out tensor<?xf32>) warps = 4 {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %w = warp_index : i64
  %one = constant {value = 1 : f32} : TILE
  %zero = constant {value = 0 : f32} : TILE
  %runs, %sum = repeat carry (%n = %0, %t = %zero) : i64, TILE {
    %again = compare %n, %w {predicate = lt} : bool
    %next = add %n, %1 : i64
    %more = add %t, %one : TILE
    yield %again, %next, %more
  }
  %runs_i = cast %runs : i32
  %v = splat %runs_i : tile<1xi32, [lane (0) (0) (0) (0) (0)]>
  store %y, %v, %w
  store %z, %sum, %0
  return
}
)",
                 "TILE", tile("f32")),
            {&y, &z});
  for (std::int64_t i = 0; i < 4; ++i) CHECK(y.integer(i) == i + 1);
  CHECK(first_wrong(z, [](std::int64_t at) { return static_cast<double>(at / 64 + 1); }) == "");
}

using Check = void (*)();
constexpr Check checks[] = {arithmetic, integers, elementary,   conversions, reductions,  shapes,     lanes_of_a_warp,
                            control,    grid,     shared_tiles, bulk_copies, tma_copies,  old_copies, named_barriers,
                            clusters,   peers,    products,     atomics,     specialized, repeating};

}  // namespace

TEST_CASE("warps compute what arithmetic of fragments says", "[sim][block]") {
  arithmetic();
  integers();
  elementary();
}
TEST_CASE("warps reduce, reshape and convert fragments", "[sim][block]") {
  conversions();
  reductions();
  shapes();
  lanes_of_a_warp();
}
TEST_CASE("warps branch, loop, call and take their part of a grid", "[sim][block]") {
  control();
  grid();
  specialized();
  repeating();
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
TEST_CASE("tensor cores multiply fragments and shared tiles", "[sim][block]") { products(); }

TEST_CASE("every op but dot and fetch is simulated by warps", "[sim][block][N1]") {
  for (Check const check : checks) check();
  for (int number = 0; number < ir::op_kind_count; ++number) {
    auto const kind = static_cast<ir::OpKind>(number);
    INFO(ir::op_info(kind).mnemonic);
    CHECK((kind == ir::OpKind::DotOp || kind == ir::OpKind::FetchOp || simulated_ops().count(kind) == 1));
  }
}
