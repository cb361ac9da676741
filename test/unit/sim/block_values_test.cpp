// Tests ops on fragments and scalars, and the ops that decide how often warps run them.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include "block_ops.hpp"
#include "support/elementary.hpp"
#include "tegula/math/philox.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

/// The same in another order: adjacent elements lie in different warps.
constexpr auto scattered = "[register (128), lane (4) (8) (16) (32) (64), warp (1) (2)]";
/// Within the warp: lanes fastest.
constexpr auto lanes_first = "[register (32), lane (1) (2) (4) (8) (16), warp (64) (128)]";

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
                   "\n  %big = constant {value = 1073741824 : i32} : " + t + "\n  %high = multiply_high %a, %big : " +
                   t + "\n  %sum = add %g, %k : " + t + "\n  %r = add %sum, %high : " + t + "\n",
               "i32", "i32"),
      {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t at) {
          std::int64_t const a = x.integer(at), d = ((a & 3) | 2) ^ a;
          auto const quotient = static_cast<std::int64_t>(std::ceil(static_cast<double>(a) / 3));
          return static_cast<double>(d % 3 + quotient + (a >> 2));  // the product with 2^30, without its lower 32 bits
        }) == "");
}

void random_numbers() {
  HostTensor x(Element::i32, {256}), y(Element::i32, {256});
  for (std::int64_t i = 0; i < 256; ++i) x.set_integer(i, i * 3 - 100);
  run_clean(map_line("  %seed = constant {value = 7 : i64} : " + tile("i64") +
                         "\n  %r = random_bits %seed, %a : " + tile("i32") + "\n",
                     "i32", "i32"),
            {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t at) {
          std::int64_t const place = x.integer(at);
          return static_cast<std::int32_t>(math::random_words(7, place)[static_cast<std::size_t>(place & 3)]);
        }) == "");
}

void elementary() {
  HostTensor x = small_tensor(Element::f32, {256}, 3), y(Element::f32, {256});
  for (ElementaryRow const& row : elementary_rows) {
    INFO(row.name);
    run_clean(map_line("  %r = " + std::string(row.name) + " %a : " + tile("f32") + "\n"), {&x, &y});
    samples::Comparison all(row.bound_f32);
    for (std::int64_t i = 0; i < 256; ++i) {
      auto const wanted = static_cast<double>(row.exact(static_cast<long double>(x.number(i))));
      all.add(i, y.number(i), wanted, std::abs(wanted) * 0x1p-23, y.unwritten(i));
    }
    CHECK(all.failure() == "");
  }
  for (ElementaryRow2 const& row : elementary_rows_2) {
    INFO(row.name);
    run_clean(map_line("  %i = iota : " + tile("i32") + "\n  %b = cast %i : " + tile("f32") +
                       "\n  %r = " + std::string(row.name) + " %a, %b : " + tile("f32") + "\n"),
              {&x, &y});
    for (std::int64_t i = 0; i < 256; ++i) {
      auto const wanted = static_cast<double>(row.exact(static_cast<long double>(x.number(i)), i));
      INFO(x.number(i) << ", " << i << ": " << y.number(i) << " but expected " << wanted);
      bool const finite = std::abs(wanted) <= 3e38;
      if (finite) CHECK(std::abs(y.number(i) - wanted) <= std::max(std::abs(wanted) * 0x1p-21, 0x1p-149));
      if (std::isnan(wanted)) CHECK(std::isnan(y.number(i)));
    }
  }
}

/// Adds a table to a row of a tensor whose axes changed places.
void tables() {
  HostTensor x = small_tensor(Element::f32, {3, 2, 256}, 31), y(Element::f32, {256});
  std::string digits;
  for (std::uint32_t i = 0; i < 256; ++i) {
    auto const bits = std::bit_cast<std::uint32_t>(static_cast<float>(i));
    for (int byte = 0; byte < 4; ++byte)
      for (int shift : {8 * byte + 4, 8 * byte}) digits += "0123456789abcdef"[bits >> shift & 15];
  }
  run_clean(
      "kernel @k(%x: in tensor<?x?x?xf32>, %y: out tensor<?xf32>) warps = 4 {\n  %0 = constant {value = 0 : i64} : "
      "i64\n  %1 = constant {value = 1 : i64} : i64\n  %2 = constant {value = 2 : i64} : i64\n  %p = permute %x "
      "{permutation = [1, 0, 2]} : tensor<?x?x?xf32>\n  %a = load %p, %1, %2, %0 : " +
          tile("f32") + "\n  %b = table {data = \"" + digits + "\"} : " + tile("f32") +
          "\n  %r = add %a, %b : " + tile("f32") + "\n  store %y, %r, %0\n  return\n}\n",
      {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return x.number((2 * 2 + 1) * 256 + i) + static_cast<double>(i); }) == "");
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
  // An element as a scalar, spread over a tile again.
  run_clean(map_line("  %m = reduce %a {axis = 0, combine = max} : " + one +
                     "\n  %s = item %m : f32\n  %r = splat %s : " + one + "\n"),
            {&x, &y});
  double most = x.number(0);
  for (std::int64_t i = 1; i < 256; ++i) most = std::max(most, x.number(i));
  CHECK(y.number(0) == most);
}

void scans() {
  HostTensor x = small_tensor(Element::f32, {256}, 7), y(Element::f32, {256});
  for (bool const reverse : {false, true}) {
    run_clean(map_line("  %r = scan %a {axis = 0" + std::string(reverse ? ", exclusive = true, reverse = true" : "") +
                       "} : " + tile("f32") + "\n"),
              {&x, &y});
    CHECK(first_wrong(y, [&](std::int64_t i) {
            double expected = 0;
            for (std::int64_t k = reverse ? i + 1 : 0; k < (reverse ? 256 : i + 1); ++k) expected += x.number(k);
            return expected;
          }) == "");
  }
}

void places() {
  // Warps hold runs, as ranks need it, or parts of all of the tile.
  HostTensor x = small_tensor(Element::i32, {256}, 9), y(Element::i32, {256});
  for (std::int64_t i = 0; i < 256; ++i) x.set_number(i, static_cast<double>(x.integer(i) & 7));
  std::string const runs = "tile<256xi32, [register (32), lane (1) (2) (4) (8) (16), warp (64) (128)]>";
  std::string const bins = "tile<8xi32, [lane (1) (2) (4) (0) (0), warp (0) (0)]>";
  auto const equal_before = [&](std::int64_t end, double value) {
    double count = 0;
    for (std::int64_t i = 0; i < end; ++i) count += x.number(i) == value ? 1 : 0;
    return count;
  };
  std::string const counted = "  %c = histogram %a : " + bins +
                              "\n  %s = scan %c {axis = 0, exclusive = true} : " + bins +
                              "\n  %m = convert_layout %a : " + runs + "\n  %k = ranks %m, %s : " + runs + "\n";
  HostTensor few(Element::i32, {8});
  run_clean(map_line("  %r = histogram %a : " + bins + "\n", "i32", "i32"), {&x, &few});
  CHECK(first_wrong(few, [&](std::int64_t bin) { return equal_before(256, static_cast<double>(bin)); }) == "");
  auto const place_of = [&](std::int64_t i) {
    double below = equal_before(i, x.number(i));
    for (double value = 0; value < x.number(i); ++value) below += equal_before(256, value);
    return below;
  };
  run_clean(map_line(counted + "  %r = convert_layout %k : " + tile("i32") + "\n", "i32", "i32"), {&x, &y});
  CHECK(first_wrong(y, place_of) == "");
  run_clean(map_line(counted + "  %r = put %m, %k : " + tile("i32") + "\n", "i32", "i32"), {&x, &y});
  std::vector<double> sorted;
  for (std::int64_t i = 0; i < 256; ++i) sorted.push_back(x.number(i));
  std::sort(sorted.begin(), sorted.end());
  CHECK(first_wrong(y, [&](std::int64_t i) { return sorted[static_cast<std::size_t>(i)]; }) == "");
  run_clean(map_line("  %c = histogram %a : " + bins + "\n  %r = take %c, %a : " + tile("i32") + "\n", "i32", "i32"),
            {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return equal_before(256, x.number(i)); }) == "");
}

void butterflies() {
  // Within threads, within warps, between warps.
  HostTensor x = small_tensor(Element::f32, {256}, 8), y(Element::f32, {256});
  for (int const stride : {1, 2, 32, 64, 128}) {
    run_clean(map_line(fmt::format("  %r = butterfly %a {{axis = 0, stride = {}}} : {}\n", stride, tile("f32"))),
              {&x, &y});
    CHECK(first_wrong(y, [&](std::int64_t i) { return x.number(i ^ stride); }) == "");
  }
  run_clean(map_line("  %r = flip %a {axis = 0} : " + tile("f32") + "\n"), {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return x.number(255 - i); }) == "");
  // A longer tile has anything behind.
  HostTensor half(Element::f32, {128});
  std::string const few = "tile<128xf32, [register (1), lane (2) (4) (8) (16) (32), warp (64) (0)]>";
  run_clean(map_line("  %f = resize %a : " + few + "\n  %l = resize %f : " + tile("f32") +
                     "\n  %r = resize %l : " + few + "\n"),
            {&x, &half});
  CHECK(first_wrong(half, [&](std::int64_t i) { return x.number(i); }) == "");
  // Joined over all, each thread has the total.
  std::string body, all = "%a";
  for (int stride = 1; stride < 256; stride *= 2) {
    std::string const n = fmt::to_string(stride);
    body += "  %b" + n + " = butterfly " + all + " {axis = 0, stride = " + n + "} : " + tile("f32") + "\n  %m" + n +
            " = max " + all + ", %b" + n + " : " + tile("f32") + "\n";
    all = "%m" + n;
  }
  body += "  %r = extract " + all +
          " {offsets = [0], uniform = true} : tile<1xf32, [lane (0) (0) (0) (0) (0), warp (0) (0)]>\n";
  HostTensor one(Element::f32, {1});
  run_clean(map_line(body), {&x, &one});
  double max = -INFINITY;
  for (std::int64_t i = 0; i < 256; ++i) max = std::max(max, x.number(i));
  CHECK(one.number(0) == max);
}

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
          double max = -INFINITY;
          for (std::int64_t j = 0; j < 32; ++j) max = std::max(max, x.number(i / 32 * 32 + j));
          return (x.number(i) - max) * static_cast<double>(i % 32 + 1);
        }) == "");
}

void regrouped() {
  // Warps hold rows of the matrix. The reshape and the first extract keep elements in their registers; the other
  // extract moves them between warps.
  HostTensor x = small_tensor(Element::f32, {64, 32}, 8), y(Element::f32, {16, 8});
  std::string const half =
      "tile<64x16xf32, [register (0,8) (4,0) (8,0), lane (0,1) (0,2) (0,4) (1,0) (2,0), warp (16,0) (32,0)]>";
  std::string const wide =
      "tile<64x32xf32, [register (0,8) (0,16) (4,0) (8,0), lane (0,1) (0,2) (0,4) (1,0) (2,0), warp "
      "(16,0) (32,0)]>";
  std::string const box =
      "tile<4x16x32xf32, [register (0,0,8) (0,0,16) (0,4,0) (0,8,0), lane (0,0,1) (0,0,2) (0,0,4) "
      "(0,1,0) (0,2,0), warp (1,0,0) (2,0,0)]>";
  run_clean(
      "kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) warps = 4 {\n"
      "  %0 = constant {value = 0 : i64} : i64\n  %a = load %x, %0, %0 : " +
          wide + "\n  %b = reshape %a : " + box + "\n  %c = reshape %b : " + wide +
          "\n  %l = extract %c {offsets = [0, 0]} : " + half + "\n  %r = extract %a {offsets = [0, 16]} : " + half +
          "\n  %d = concatenate %r, %l {axis = 1} : " + wide +
          "\n  %m = extract %d {offsets = [17, 3], scratch = 0} : tile<16x8xf32, [register (0,4), lane (0,1) (0,2) "
          "(1,0) (2,0) (4,0), warp (8,0) (0,0)]>\n  store %y, %m, %0, %0\n  return\n}\n",
      {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return x.number((i / 8 + 17) * 32 + (i % 8 + 3 + 16) % 32); }) == "");
}

void lanes_of_a_warp() {
  // fold leaves one element per lane along the axis; a butterfly over those two lane bits is then the row's sum.
  HostTensor x = small_tensor(Element::f32, {64, 32}, 7), y(Element::f32, {64, 4}), v(Element::i32, {4});
  std::string const t = "tile<64x32xf32, " + matrix + ">";
  std::string const f = "tile<64x4xf32, [register (8,0), lane (0,1) (0,2) (1,0) (2,0) (4,0), warp (16,0) (32,0)]>";
  run_clean(
      "kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>, %v: inout tensor<?xi32>) warps = 4 {\n"
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

void messages() {
  HostTensor x = small_tensor(Element::f32, {256}, 12), y(Element::f32, {256});
  run_clean(map_line("  %none = constant {value = -1000 : f32} : " + tile("f32") +
                     "\n  %good = compare %a, %none {predicate = gt} : " + tile("bool") +
                     "\n  assert %good, %0, %0, %0 {message = \"not below\"}\n"
                     "  print %0, %0, %0, %0, %a {text = \"line\"}\n  %r = add %a, %a : " +
                     tile("f32") + "\n"),
            {&x, &y});
  CHECK(first_wrong(y, [&](std::int64_t i) { return 2 * x.number(i); }) == "");
}

}  // namespace

void tegula::test::check_values() {
  for (auto const check :
       {arithmetic, integers, random_numbers, elementary, tables, conversions, reductions, scans, places, butterflies,
        shapes, regrouped, lanes_of_a_warp, control, grid, specialized, repeating, messages})
    check();
}

TEST_CASE("warps compute the arithmetic of fragments", "[sim][block]") {
  arithmetic();
  integers();
  random_numbers();
  elementary();
  tables();
}

TEST_CASE("warps reduce, reshape and convert fragments", "[sim][block]") {
  butterflies();
  conversions();
  reductions();
  scans();
  places();
  shapes();
  regrouped();
  lanes_of_a_warp();
}

TEST_CASE("warps branch, loop, call and take their tiles of a grid", "[sim][block]") {
  control();
  grid();
  specialized();
  repeating();
  messages();
}
