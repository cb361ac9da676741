// Tests softmax, matrix products and attention on the host, against float64.
#include "driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tegula;
using namespace tegula::test;

std::string softmax_text(int width) {
  std::string text = R"(
kernel @softmax(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>) {
  %n = extent %y {axis = 0} : i64
  grid %n
  %i = block_index {axis = 0} : i64
  %z = constant {value = 0 : i64} : i64
  %v = load %x, %i, %z {pad = -inf : f32} : tile<1xWxf32>
  %m = reduce %v {axis = 1, combine = max} : tile<1x1xf32>
  %mb = broadcast %m : tile<1xWxf32>
  %d = sub %v, %mb : tile<1xWxf32>
  %e = exp %d : tile<1xWxf32>
  %s = reduce %e {axis = 1} : tile<1x1xf32>
  %sb = broadcast %s : tile<1xWxf32>
  %q = div %e, %sb : tile<1xWxf32>
  store %y, %q, %i, %z
  return
}
)";
  for (auto at = text.find("xWx"); at != std::string::npos; at = text.find("xWx"))
    text.replace(at, 3, fmt::format("x{}x", width));
  return text;
}

TEST_CASE("softmax matches float64 at ragged widths on three CPUs", "[host]") {
  struct Case {
    int width;
    std::int64_t rows, columns, inner;
  };
  for (Case const& c : {Case{1024, 5, 1000, 1}, Case{1024, 3, 1024, 1}, Case{64, 7, 1, 1}, Case{64, 2, 33, 3},
                        Case{4096, 2, 3000, 1}, Case{1, 3, 1, 1}}) {
    ir::Module const module = parse(softmax_text(c.width));
    for (char const* cpu : {"x86-64-v2", "x86-64-v3", ""}) {
      INFO("width " << c.width << ", " << c.rows << " x " << c.columns << ", cpu " << cpu);
      Array x(Element::f32, {c.rows, c.columns}, 5, c.inner), y(Element::f32, {c.rows, c.columns}, 3, c.inner);
      x.randomise(1, 10);
      run_on_host(module, {x, y}, {cpu});
      CHECK(y.untouched_outside());
      samples::Comparison all(2e-6);
      for (std::int64_t i = 0; i < c.rows; ++i) {
        double largest = -INFINITY;
        for (std::int64_t j = 0; j < c.columns; ++j) largest = std::max(largest, x.value(i * c.columns + j));
        double total = 0;
        for (std::int64_t j = 0; j < c.columns; ++j) total += std::exp(x.value(i * c.columns + j) - largest);
        for (std::int64_t j = 0; j < c.columns; ++j) {
          double const want = std::exp(x.value(i * c.columns + j) - largest) / total;
          all.add(i * c.columns + j, y.value(i * c.columns + j), want, want, y.unwritten(i * c.columns + j));
        }
      }
      CHECK(all.failure() == "");
    }
  }
}

/// Returns the text of a product of A and B to C with its names filled in. GRID begins it; tiles are BM x BN x BK.
std::string filled(std::string text, int bm, int bn, int bk,
                   std::vector<std::pair<std::string, std::string>> const& names) {
  auto const replace = [&](std::string const& from, std::string const& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
      text.replace(at, from.size(), to);
  };
  replace("GRID\n", R"(  %m = extent %C {axis = 0} : i64
  %n = extent %C {axis = 1} : i64
  %bm = constant {value = BM : i64} : i64
  %bn = constant {value = BN : i64} : i64
  %bk = constant {value = BK : i64} : i64
  %g0 = ceil_div %m, %bm : i64
  %g1 = ceil_div %n, %bn : i64
  grid %g0, %g1
  %i = block_index {axis = 0} : i64
  %j = block_index {axis = 1} : i64
  %i0 = mul %i, %bm : i64
  %j0 = mul %j, %bn : i64
  %k = extent %A {axis = 1} : i64
  %trips = ceil_div %k, %bk : i64
  %lo = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
)");
  for (auto const& [from, to] : names) replace(from, to);
  replace("BM", fmt::to_string(bm));
  replace("BN", fmt::to_string(bn));
  replace("BK", fmt::to_string(bk));
  return text;
}

/// Computes C = A B + bias, rows by 0, through a loop over K.
std::string gemm_text(std::string const& element, int bm, int bn, int bk) {
  std::string text = R"(
kernel @gemm(%A: in tensor<?x?xEL>, %B: in tensor<?x?xEL>, %bias: in tensor<?xf32>, %C: out tensor<?x?xEL>) {
GRID
  %zero = constant {value = 0.0 : f32} : tile<BMxBNxf32>
  %acc = for %t = %lo to %trips step %one carry (%sum = %zero) : tile<BMxBNxf32> {
    %k0 = mul %t, %bk : i64
    %a = load %A, %i0, %k0 : tile<BMxBKxEL>
    %b = load %B, %k0, %j0 : tile<BKxBNxEL>
    %next = dot %a, %b, %sum : tile<BMxBNxf32>
    yield %next
  }
  %row = load %bias, %j0 : tile<BNxf32>
  %row2 = expand_dims %row {axes = [0]} : tile<1xBNxf32>
  %rows = broadcast %row2 : tile<BMxBNxf32>
  %r = add %acc, %rows : tile<BMxBNxf32>
  %out = cast %r : tile<BMxBNxEL>
  store %C, %out, %i0, %j0
  return
}
)";
  return filled(text, bm, bn, bk, {{"EL", element}});
}

void check_gemm(Element element, int bm, int bn, int bk, std::int64_t m, std::int64_t n, std::int64_t k,
                RunOptions const& options, std::int64_t inner = 1) {
  INFO("tile " << bm << "x" << bn << "x" << bk << ", " << m << "x" << n << "x" << k << " of " << name(element)
               << ", cpu " << options.architecture << (options.workspace ? "" : ", no workspace")
               << (options.facts ? "" : ", no facts"));
  ir::Module const module = parse(gemm_text(std::string(name(element)), bm, bn, bk));
  Array a(element, {m, k}, 3, inner), b(element, {k, n}, 1, inner), bias(Element::f32, {n}),
      c(element, {m, n}, 7, inner);
  a.randomise(1);
  b.randomise(2);
  bias.randomise(3);
  run_on_host(module, {a, b, bias, c}, options);
  CHECK(c.untouched_outside());
  samples::Comparison all(bits(element) == 16 ? 5e-3 : 1e-6);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double sum = bias.value(j);
      double magnitude = std::abs(sum);
      for (std::int64_t l = 0; l < k; ++l) {
        double const product = a.value(i * k + l) * b.value(l * n + j);
        sum += product;
        magnitude += std::abs(product);
      }
      all.add(i * n + j, c.value(i * n + j), sum, magnitude + 1e-30, c.unwritten(i * n + j));
    }
  if (m * n != 0) CHECK(all.failure() == "");
}

TEST_CASE("gemm matches float64 at ragged extents on three CPUs", "[host]") {
  for (char const* cpu : {"x86-64-v2", "x86-64-v3", ""}) {
    for (Element element : {Element::f32, Element::bf16, Element::f16}) {
      check_gemm(element, 64, 64, 16, 100, 70, 50, {cpu});
      check_gemm(element, 32, 48, 8, 64, 96, 1000, {cpu, true, 2});
      check_gemm(element, 64, 64, 16, 100, 70, 50, {cpu, true, 1, false});
    }
    check_gemm(Element::f32, 128, 128, 64, 130, 257, 129, {cpu, true, 2});
    check_gemm(Element::f32, 16, 4, 3, 20, 9, 10, {cpu});
    check_gemm(Element::f32, 5, 7, 13, 11, 15, 27, {cpu});
    check_gemm(Element::f32, 1, 1, 1, 2, 3, 4, {cpu});
    check_gemm(Element::f32, 64, 64, 512, 70, 70, 600, {cpu});
    check_gemm(Element::f32, 64, 64, 16, 65, 30, 50, {cpu, false}, 2);
    check_gemm(Element::bf16, 64, 64, 16, 100, 70, 0, {cpu});
    check_gemm(Element::f32, 64, 64, 16, 0, 70, 5, {cpu});
  }
}

/// Computes C += A B through a loop over K, in the accumulator's element; `attributes` of the product.
std::string product_text(Element left, Element right, int bm, int bn, int bk, std::string const& attributes) {
  std::string text = R"(
kernel @product(%A: in tensor<?x?xLEFT>, %B: in tensor<?x?xRIGHT>, %C: inout tensor<?x?xSUM>) {
GRID
  %c = load %C, %i0, %j0 : tile<BMxBNxSUM>
  %acc = for %t = %lo to %trips step %one carry (%sum = %c) : tile<BMxBNxSUM> {
    %k0 = mul %t, %bk : i64
    %a = load %A, %i0, %k0 : tile<BMxBKxLEFT>
    %b = load %B, %k0, %j0 : tile<BKxBNxRIGHT>
    %next = dot %a, %b, %sumATTRIBUTES : tile<BMxBNxSUM>
    yield %next
  }
  store %C, %acc, %i0, %j0
  return
}
)";
  return filled(text, bm, bn, bk,
                {{"LEFT", std::string(name(left))},
                 {"RIGHT", std::string(name(right))},
                 {"SUM", std::string(name(dot_accumulator(left)))},
                 {"ATTRIBUTES", attributes}});
}

void check_product(Element left, Element right, int bm, int bn, int bk, std::int64_t m, std::int64_t n, std::int64_t k,
                   RunOptions const& options, std::string const& attributes = "") {
  INFO("tile " << bm << "x" << bn << "x" << bk << ", " << m << "x" << n << "x" << k << ", " << name(left) << " by "
               << name(right) << attributes << ", cpu " << options.architecture
               << (options.workspace ? "" : ", no workspace") << (options.facts ? "" : ", no facts"));
  ir::Module const module = parse(product_text(left, right, bm, bn, bk, attributes));
  Element const sum = dot_accumulator(left);
  Array a(left, {m, k}, 3), b(right, {k, n}, 1), c(sum, {m, n}, 7);
  a.randomise(1), b.randomise(2), c.randomise(3);
  if (left == Element::i8) {
    std::mt19937 engine(4);
    for (Array* each : {&a, &b})
      for (std::int64_t i = 0; i < each->count(); ++i)
        each->set(i, ir::make_constant(left, static_cast<std::int64_t>(engine())));
    for (std::int64_t i = 0; i < c.count(); i += 3)  // sums that wrap
      c.set(i, ir::make_constant(sum, std::int64_t{i % 2 == 0 ? 2147483647 : -2147483647 - 1}));
  }
  Array const before = c;
  run_on_host(module, {a, b, c}, options);
  CHECK(c.untouched_outside());
  samples::Comparison all(sum == Element::i32 ? 0 : 1e-6);
  for (std::int64_t i = 0; i < m; ++i)
    for (std::int64_t j = 0; j < n; ++j) {
      double total = before.value(i * n + j), magnitude = std::abs(total);  // exact, of i8
      for (std::int64_t l = 0; l < k; ++l) {
        double const product = a.value(i * k + l) * b.value(l * n + j);
        total += product;
        magnitude += std::abs(product);
      }
      if (sum == Element::i32) total = ir::to_double(ir::make_constant(sum, static_cast<std::int64_t>(total)));
      all.add(i * n + j, c.value(i * n + j), total, magnitude + 1e-30, false);  // C has its sums from the start
    }
  CHECK(all.failure() == "");
}

TEST_CASE("products of i8 are exact and wrap, those of 8-bit floats and of tf32 have the sums of f32", "[host]") {
  struct Case {
    Element left, right;
    char const* attributes;
  };
  for (char const* cpu : {"x86-64-v2", "x86-64-v3", ""}) {
    for (Case const& c : {Case{Element::i8, Element::i8, ""}, Case{Element::e4m3, Element::e4m3, ""},
                          Case{Element::e4m3, Element::e5m2, ""}, Case{Element::e5m2, Element::e4m3, ""},
                          Case{Element::f32, Element::f32, " {precision = tf32}"}}) {
      check_product(c.left, c.right, 64, 64, 32, 100, 70, 50, {cpu}, c.attributes);
      check_product(c.left, c.right, 32, 48, 8, 64, 96, 1000, {cpu, true, 2}, c.attributes);
      check_product(c.left, c.right, 64, 64, 16, 100, 70, 50, {cpu, true, 1, false}, c.attributes);
      check_product(c.left, c.right, 5, 7, 13, 11, 15, 27, {cpu, false}, c.attributes);
    }
    check_product(Element::i8, Element::i8, 64, 64, 512, 70, 70, 600, {cpu});
    check_product(Element::i8, Element::i8, 1, 1, 1, 2, 3, 4, {cpu});
    check_product(Element::i8, Element::i8, 64, 64, 16, 100, 70, 0, {cpu});
  }
}

TEST_CASE("products whose operands are computed, nested in loops and one after another", "[host]") {
  // C = 2 * sum over h of (A_h^T + 1) * B, then D = C's rows times B again, with B's tile taken before the loop.
  std::string const text = R"(
kernel @products(%A: in tensor<?x?x?xbf16>, %B: in tensor<?x?xf32>, %s: f32, %C: out tensor<?x?xf32>, %D: out tensor<?x?xf32>) {
  %h = extent %A {axis = 0} : i64
  %m = extent %C {axis = 0} : i64
  %n = extent %C {axis = 1} : i64
  %k = extent %B {axis = 0} : i64
  %t = constant {value = 16 : i64} : i64
  %g0 = ceil_div %m, %t : i64
  %g1 = ceil_div %n, %t : i64
  grid %g0, %g1
  %i = block_index {axis = 0} : i64
  %j = block_index {axis = 1} : i64
  %i0 = mul %i, %t : i64
  %j0 = mul %j, %t : i64
  %lo = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %ones = constant {value = 1.0 : f32} : tile<16x8xf32>
  %eight = constant {value = 8 : i64} : i64
  %zero = constant {value = 0.0 : f32} : tile<16x16xf32>
  %scale = splat %s : tile<8x16xf32>
  %c = for %x = %lo to %h step %one carry (%total = %zero) : tile<16x16xf32> {
    %p = for %y = %lo to %k step %eight carry (%sum = %total) : tile<16x16xf32> {
      %a = load %A, %x, %y, %i0 : tile<8x16xbf16>
      %at = trans %a {permutation = [1, 0]} : tile<16x8xbf16>
      %af = cast %at : tile<16x8xf32>
      %a1 = add %af, %ones : tile<16x8xf32>
      %b = load %B, %y, %j0 : tile<8x16xf32>
      %b1 = mul %b, %scale : tile<8x16xf32>
      %next = dot %a1, %b1, %sum : tile<16x16xf32>
      yield %next
    }
    yield %p
  }
  store %C, %c, %i0, %j0
  %fixed = load %B, %lo, %j0 : tile<8x16xf32>
  %d = for %u = %lo to %k step %eight carry (%so_far = %zero) : tile<16x16xf32> {
    %v = load %A, %lo, %u, %i0 : tile<8x16xbf16>
    %vf = cast %v : tile<8x16xf32>
    %vt = trans %vf {permutation = [1, 0]} : tile<16x8xf32>
    %more = dot %vt, %fixed, %so_far : tile<16x16xf32>
    yield %more
  }
  %e = for %w = %lo to %h step %one carry (%run = %d) : tile<16x16xf32> {
    %bb = load %B, %w, %j0 : tile<16x16xf32>
    %last = dot %c, %bb, %run : tile<16x16xf32>
    yield %last
  }
  store %D, %e, %i0, %j0
  return
}
)";
  for (std::int64_t heads : {0, 1, 3}) {
    Array a(Element::bf16, {heads, 30, 20}), b(Element::f32, {30, 35}, 1), c(Element::f32, {20, 35}),
        d(Element::f32, {20, 35}, 2);
    check_against_simulator(text, {a.randomise(1), b.randomise(2), ir::make_constant(Element::f32, 2.0), c, d}, 2e-6);
  }
}

constexpr char const* attention_text = R"(
kernel @attention(%Q: in tensor<?x?x?xEL>, %K: in tensor<?x?x?xEL>, %V: in tensor<?x?x?xEL>, %O: out tensor<?x?x?xEL>, %scale: f32) {
  %heads = extent %O {axis = 0} : i64
  %queries = extent %O {axis = 1} : i64
  %bm = constant {value = 32 : i64} : i64
  %bn = constant {value = 16 : i64} : i64
  %g1 = ceil_div %queries, %bm : i64
  grid %heads, %g1
  %h = block_index {axis = 0} : i64
  %i = block_index {axis = 1} : i64
  %i0 = mul %i, %bm : i64
  %lo = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %q = load %Q, %h, %i0, %lo : tile<32x64xEL>
  %keys = extent %K {axis = 1} : i64
  %trips = ceil_div %keys, %bn : i64
  %minus = constant {value = -inf : f32} : tile<32x1xf32>
  %l0 = constant {value = 0.0 : f32} : tile<32x1xf32>
  %o0 = constant {value = 0.0 : f32} : tile<32x64xf32>
  %m, %l, %o = for %j = %lo to %trips step %one carry (%m0 = %minus, %l1 = %l0, %o1 = %o0) : tile<32x1xf32>, tile<32x1xf32>, tile<32x64xf32> {
    %j0 = mul %j, %bn : i64
    %k = load %K, %h, %j0, %lo : tile<16x64xEL>
    %kt = trans %k {permutation = [1, 0]} : tile<64x16xEL>
    %s0 = constant {value = 0.0 : f32} : tile<32x16xf32>
    %s1 = dot %q, %kt, %s0 : tile<32x16xf32>
    %sc = splat %scale : tile<32x16xf32>
    %s2 = mul %s1, %sc : tile<32x16xf32>
    %col = iota {axis = 1} : tile<32x16xi64>
    %base = splat %j0 : tile<32x16xi64>
    %at = add %col, %base : tile<32x16xi64>
    %end = splat %keys : tile<32x16xi64>
    %in = compare %at, %end {predicate = lt} : tile<32x16xbool>
    %out = constant {value = -inf : f32} : tile<32x16xf32>
    %s = select %in, %s2, %out : tile<32x16xf32>
    %top = reduce %s {axis = 1, combine = max} : tile<32x1xf32>
    %m1 = max %m0, %top : tile<32x1xf32>
    %mb = broadcast %m1 : tile<32x16xf32>
    %d = sub %s, %mb : tile<32x16xf32>
    %p = exp2 %d : tile<32x16xf32>
    %dm = sub %m0, %m1 : tile<32x1xf32>
    %a = exp2 %dm : tile<32x1xf32>
    %la = mul %l1, %a : tile<32x1xf32>
    %ps = reduce %p {axis = 1} : tile<32x1xf32>
    %l2 = add %la, %ps : tile<32x1xf32>
    %pc = cast %p : tile<32x16xEL>
    %v = load %V, %h, %j0, %lo : tile<16x64xEL>
    %ab = broadcast %a : tile<32x64xf32>
    %oa = mul %o1, %ab : tile<32x64xf32>
    %o2 = dot %pc, %v, %oa : tile<32x64xf32>
    yield %m1, %l2, %o2
  }
  %lb = broadcast %l : tile<32x64xf32>
  %r = div %o, %lb : tile<32x64xf32>
  %rc = cast %r : tile<32x64xEL>
  store %O, %rc, %h, %i0, %lo
  return
}
)";

TEST_CASE("attention matches float64 on three CPUs", "[host]") {
  for (Element element : {Element::f32, Element::bf16}) {
    std::string text = attention_text;
    for (auto at = text.find("EL"); at != std::string::npos; at = text.find("EL")) text.replace(at, 2, name(element));
    ir::Module const module = parse(text);
    for (std::int64_t keys : {1, 16, 40, 100})
      for (char const* cpu : {"x86-64-v2", "x86-64-v3", ""}) {
        INFO(name(element) << ", " << keys << " keys, cpu " << cpu);
        std::int64_t const heads = 2, queries = 50, width = 64;
        Array q(element, {heads, queries, width}), k(element, {heads, keys, width}), v(element, {heads, keys, width}),
            o(element, {heads, queries, width});
        q.randomise(1);
        k.randomise(2);
        v.randomise(3);
        float const scale = 0.1F;
        run_on_host(module, {q, k, v, o, ir::make_constant(Element::f32, static_cast<double>(scale))}, {cpu});
        CHECK(o.untouched_outside());
        samples::Comparison all(element == Element::bf16 ? 2e-2 : 1e-5);
        for (std::int64_t h = 0; h < heads; ++h)
          for (std::int64_t i = 0; i < queries; ++i) {
            std::vector<double> p(static_cast<std::size_t>(keys));
            double total = 0;
            for (std::int64_t j = 0; j < keys; ++j) {
              double s = 0;
              for (std::int64_t d = 0; d < width; ++d)
                s += q.value((h * queries + i) * width + d) * k.value((h * keys + j) * width + d);
              total += p[static_cast<std::size_t>(j)] = std::exp2(s * static_cast<double>(scale));
            }
            for (std::int64_t d = 0; d < width; ++d) {
              double want = 0;
              for (std::int64_t j = 0; j < keys; ++j)
                want += p[static_cast<std::size_t>(j)] / total * v.value((h * keys + j) * width + d);
              std::int64_t const at = (h * queries + i) * width + d;
              all.add(at, o.value(at), want, 1, o.unwritten(at));
            }
          }
        CHECK(all.failure() == "");
      }
  }
}

}  // namespace
