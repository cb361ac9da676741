// Tests every other op of the table but block ops: shapes, reductions, products, control flow, memory, launches.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "layout/layout.hpp"
#include "ops_support.hpp"
#include "support/log_rows.hpp"
#include "support/elementary.hpp"
#include "tegula/math/functions.hpp"
#include "tegula/support/half.hpp"

using namespace tegula;
using test::apply;
using test::check_same;
using test::floats;
using test::HostTensor;
using test::module_of;
using test::random_column;
using test::simulate;
using test::Wide;

namespace {

void shapes() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?x?xi32>, %t: out tensor<?x?x?xi32>, %b: out tensor<?x?x?xi32>, %e: out tensor<?x?x?xi32>, %s: out tensor<?x?xi32>) {
  %0 = constant {value = 0 : i64} : i64
  %x0 = load %x, %0, %0, %0 : tile<2x3x5xi32>
  %t0 = trans %x0 {permutation = [2, 0, 1]} : tile<5x2x3xi32>
  store %t, %t0, %0, %0, %0
  %r = load %x, %0, %0, %0 : tile<2x1x5xi32>
  %b0 = broadcast %r : tile<2x4x5xi32>
  store %b, %b0, %0, %0, %0
  %q = squeeze %r {axes = [1]} : tile<2x5xi32>
  store %s, %q, %0, %0
  %w = expand_dims %q {axes = [0]} : tile<1x2x5xi32>
  %i = iota {axis = 1} : tile<1x2x5xi32>
  %j = iota {axis = 2} : tile<1x2x5xi32>
  %ten = constant {value = 10 : i32} : i32
  %tens = splat %ten : tile<1x2x5xi32>
  %ij = mul %i, %tens : tile<1x2x5xi32>
  %ijj = add %ij, %j : tile<1x2x5xi32>
  %sum = add %w, %ijj : tile<1x2x5xi32>
  store %e, %sum, %0, %0, %0
  return
})");
  std::mt19937_64 random(20);
  HostTensor x(Element::i32, {2, 3, 5}), t(Element::i32, {5, 2, 3}), b(Element::i32, {2, 4, 5}),
      e(Element::i32, {1, 2, 5}), s(Element::i32, {2, 5});
  x.fill(random, -1000, 1000);
  REQUIRE(simulate(module, {x.view(), t.view(), b.view(), e.view(), s.view()}).clean());
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 5; ++k) {
      for (int j = 0; j < 3; ++j) CHECK(t(k, i, j) == x(i, j, k));
      for (int j = 0; j < 4; ++j) CHECK(b(i, j, k) == x(i, 0, k));
      CHECK(s(i, k) == x(i, 0, k));
      CHECK(e(0, i, k) == x(i, 0, k) + 10 * i + k);
    }
}

void regrouped() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?xi32>, %r: out tensor<?x?x?xi32>, %c: out tensor<?x?xi32>, %e: out tensor<?x?xi32>) {
  %0 = constant {value = 0 : i64} : i64
  %a = load %x, %0, %0 : tile<6x4xi32>
  %r0 = reshape %a : tile<2x3x4xi32>
  store %r, %r0, %0, %0, %0
  %e0 = extract %a {offsets = [2, 1]} : tile<3x2xi32>
  store %e, %e0, %0, %0
  %left = extract %a {offsets = [3, 0]} : tile<3x4xi32>
  %c0 = concatenate %left, %e0 {axis = 1} : tile<3x6xi32>
  store %c, %c0, %0, %0
  return
})");
  std::mt19937_64 random(22);
  HostTensor x(Element::i32, {6, 4}), r(Element::i32, {2, 3, 4}), c(Element::i32, {3, 6}), e(Element::i32, {3, 2});
  x.fill(random, -1000, 1000);
  REQUIRE(simulate(module, {x.view(), r.view(), c.view(), e.view()}).clean());
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 4; ++k) {
      CHECK(r(0, i, k) == x(i, k));
      CHECK(r(1, i, k) == x(i + 3, k));
      CHECK(c(i, k) == x(i + 3, k));
    }
    for (int k = 0; k < 2; ++k) {
      CHECK(e(i, k) == x(i + 2, k + 1));
      CHECK(c(i, k + 4) == x(i + 2, k + 1));
    }
  }
}

void butterflies() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?xi32>, %y: out tensor<?x?xi32>, %z: out tensor<?x?xi32>, %m: out tensor<?x?xi32>) {
  %0 = constant {value = 0 : i64} : i64
  %a = load %x, %0, %0 : tile<12x4xi32>
  %b = butterfly %a {axis = 0, stride = 2} : tile<12x4xi32>
  store %y, %b, %0, %0
  %c = butterfly %a {axis = 1, stride = 1} : tile<12x4xi32>
  %d = max %a, %c : tile<12x4xi32>
  store %z, %d, %0, %0
  %u = resize %d : tile<12x8xi32>
  %v = butterfly %u {axis = 1, stride = 2} : tile<12x8xi32>
  %e = resize %v : tile<12x4xi32>
  %f = max %d, %e : tile<12x4xi32>
  %g = extract %f {offsets = [0, 0], uniform = true} : tile<12x1xi32>
  store %m, %g, %0, %0
  return
})");
  std::mt19937_64 random(23);
  HostTensor x(Element::i32, {12, 4}), y(Element::i32, {12, 4}), z(Element::i32, {12, 4}), m(Element::i32, {12, 1});
  x.fill(random, -1000, 1000);
  REQUIRE(simulate(module, {x.view(), y.view(), z.view(), m.view()}).clean());
  for (int i = 0; i < 12; ++i) {
    for (int k = 0; k < 4; ++k) {
      CHECK(y(i, k) == x(i ^ 2, k));
      CHECK(z(i, k) == std::max(x(i, k), x(i, k ^ 1)));
    }
    CHECK(m(i, 0) == std::max(std::max(x(i, 0), x(i, 1)), std::max(x(i, 2), x(i, 3))));
  }
}

void items() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?xi32>, %i: i64, %j: i64, %y: out tensor<?xi32>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %a = load %x, %0, %0 : tile<12x5xi32>
  %s = item_at %a, %i, %j : i32
  %b = splat %s : tile<1xi32>
  store %y, %b, %0
  %r = reduce %a {axis = 0} : tile<1x5xi32>
  %t = reduce %r {axis = 1} : tile<1x1xi32>
  %u = item %t : i32
  %c = splat %u : tile<1xi32>
  store %y, %c, %1
  return
})");
  std::mt19937_64 random(25);
  HostTensor x(Element::i32, {12, 5}), y(Element::i32, {2});
  x.fill(random, -1000, 1000);
  std::int64_t sum = 0;
  for (int i = 0; i < 12; ++i)
    for (int k = 0; k < 5; ++k) sum += x.integer(i * 5 + k);
  for (auto const& [i, j] : {std::pair{0, 0}, {11, 4}, {7, 2}, {-1, 0}, {12, 0}, {3, 5}, {3, -1}}) {
    auto const at = [](std::int64_t place) { return ir::make_constant(Element::i64, place); };
    REQUIRE(simulate(module, {x.view(), at(i), at(j), y.view()}).clean());
    bool const inside = i >= 0 && i < 12 && j >= 0 && j < 5;
    CHECK(y.integer(0) == (inside ? x.integer(i * 5 + j) : 0));
    CHECK(y.integer(1) == sum);
  }
}

void flips() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?xi32>, %y: out tensor<?x?xi32>, %z: out tensor<?x?xi32>) {
  %0 = constant {value = 0 : i64} : i64
  %a = load %x, %0, %0 : tile<12x5xi32>
  %b = flip %a {axis = 0} : tile<12x5xi32>
  store %y, %b, %0, %0
  %c = flip %a {axis = 1} : tile<12x5xi32>
  store %z, %c, %0, %0
  return
})");
  std::mt19937_64 random(24);
  HostTensor x(Element::i32, {12, 5}), y(Element::i32, {12, 5}), z(Element::i32, {12, 5});
  x.fill(random, -1000, 1000);
  REQUIRE(simulate(module, {x.view(), y.view(), z.view()}).clean());
  for (int i = 0; i < 12; ++i)
    for (int k = 0; k < 5; ++k) {
      CHECK(y(i, k) == x(11 - i, k));
      CHECK(z(i, k) == x(i, 4 - k));
    }
}

void layout_conversion() {
  std::string const layout = ir::to_string(
      ir::Type::tile(Element::f32, {128}, layout::Layout::blocked(Extents{128}, Extents{4}, 1, Extents{0})));
  auto const module = module_of(
      "kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>) warps = 4 {\n  %0 = constant {value = 0 : i64} : i64\n  "
      "%a = load %x, %0 : " +
      layout + "\n  %b = convert_layout %a : " + layout + "\n  store %y, %b, %0\n  return\n}\n");
  std::mt19937_64 random(21);
  HostTensor x(Element::f32, {128}), y(Element::f32, {128});
  x.fill(random);
  REQUIRE(simulate(module, {x.view(), y.view()}).clean());
  for (int i = 0; i < 128; ++i) CHECK(y(i) == x(i));
}

void scans() {
  auto const run = [](std::string const& attributes, std::vector<double> const& expected) {
    auto const module = module_of(
        "kernel @k(%x: in tensor<?xi32>, %y: out tensor<?xi32>) {\n  %0 = constant {value = 0 : i64} : i64\n"
        "  %a = load %x, %0 : tile<4xi32>\n  %r = scan %a {axis = 0" +
        attributes + "} : tile<4xi32>\n  store %y, %r, %0\n  return\n}\n");
    HostTensor x(Element::i32, {4}), y(Element::i32, {4});
    double const values[] = {3, -1, 4, 2};
    for (int i = 0; i < 4; ++i) x.set_number(i, values[i]);
    INFO(attributes);
    REQUIRE(simulate(module, {x.view(), y.view()}).clean());
    for (int i = 0; i < 4; ++i) CHECK(y.number(i) == expected[static_cast<std::size_t>(i)]);
  };
  run("", {3, 2, 6, 8});
  run(", reverse = true", {8, 5, 6, 2});
  run(", exclusive = true", {0, 3, 2, 6});
  run(", combine = product, exclusive = true, reverse = true", {-8, 8, 2, 1});
  run(", combine = max", {3, 3, 4, 4});
  run(", combine = min, exclusive = true", {2147483647, 3, -1, -1});
}

void reductions() {
  for (Element element : {Element::i32, Element::i64, Element::f16, Element::bf16, Element::f32, Element::f64}) {
    for (int axis = 0; axis < 3; ++axis) {
      for (std::string const combine : {"sum", "max", "min"}) {
        for (std::string const order : {"any", "pairwise"}) {
          Extents const shape = {3, 7, 4};
          Extents reduced = shape;
          reduced[axis] = 1;
          auto const type = [&](Extents const& extents) { return ir::to_string(ir::Type::tile(element, extents)); };
          std::string const tensor = "tensor<?x?x?x" + std::string(name(element)) + ">";
          std::string const text = fmt::format(
              "kernel @k(%x: in {0}, %y: out {0}) {{\n"
              "  %0 = constant {{value = 0 : i64}} : i64\n"
              "  %a = load %x, %0, %0, %0 : {1}\n"
              "  %r = reduce %a {{axis = {2}, combine = {3}, order = {4}}} : {5}\n"
              "  store %y, %r, %0, %0, %0\n"
              "  return\n"
              "}}\n",
              tensor, type(shape), axis, combine, order, type(reduced));
          INFO(text);
          auto const module = module_of(text);
          std::mt19937_64 random(22);
          HostTensor x(element, shape), y(element, reduced);
          x.fill(random, -100, 100);
          REQUIRE(simulate(module, {x.view(), y.view()}).clean());
          std::int64_t const inner = axis == 0 ? 28 : axis == 1 ? 4 : 1;
          samples::Comparison all(1);
          for (std::int64_t i = 0; i < y.count(); ++i) {
            std::int64_t const first = axis == 0 ? i : axis == 1 ? i / 4 * 28 + i % 4 : i * 4;
            std::vector<double> values;
            for (std::int64_t k = 0; k < shape[axis]; ++k) values.push_back(x.number(first + k * inner));
            double expected = values[0];
            if (combine == "max") expected = *std::max_element(values.begin(), values.end());
            if (combine == "min") expected = *std::min_element(values.begin(), values.end());
            if (combine == "sum") {
              expected = 0;
              for (double v : values) expected += v;
            }
            double const tolerance =
                combine != "sum" || is_integer(element)
                    ? 0
                    : std::ldexp(1.0, -info(element).mantissa) *
                          (std::fabs(expected) + (element == Element::f32 || element == Element::f64 ? 700 : 0));
            all.add(i, y.number(i), expected, tolerance, y.unwritten(i));
          }
          CHECK(all.failure() == "");
        }
      }
    }
  }
}

void dots() {
  struct Case {
    Element lhs, rhs;
    std::string attributes;
  };
  std::vector<Case> cases = {{Element::i8, Element::i8, ""},
                             {Element::e4m3, Element::e4m3, ""},
                             {Element::e4m3, Element::e5m2, ""},
                             {Element::e5m2, Element::e4m3, ""},
                             {Element::f32, Element::f32, " {precision = tf32}"}};
  for (Element element : floats) cases.push_back({element, element, ""});
  for (auto const& [lhs, rhs, attributes] : cases) {
    Element const sum = dot_accumulator(lhs);
    std::string const l(name(lhs)), r(name(rhs)), s(name(sum));
    INFO(l << " by " << r << attributes);
    auto const module = module_of(
        "kernel @k(%a: in tensor<?x?x" + l + ">, %b: in tensor<?x?x" + r + ">, %c: inout tensor<?x?x" + s +
        ">) {\n  %0 = constant {value = 0 : i64} : i64\n  %x = load %a, %0, %0 : tile<5x17x" + l +
        ">\n  %y = load %b, %0, %0 : tile<17x3x" + r + ">\n  %z = load %c, %0, %0 : tile<5x3x" + s +
        ">\n  %d = dot %x, %y, %z" + attributes + " : tile<5x3x" + s + ">\n  store %c, %d, %0, %0\n  return\n}\n");
    std::mt19937_64 random(24);
    HostTensor a(lhs, {5, 17}), b(rhs, {17, 3}), c(sum, {5, 3});
    double const max = lhs == Element::i8 ? 127 : 1;
    a.fill(random, -max, max), b.fill(random, -max, max), c.fill(random);
    if (sum == Element::i32) c.set_integer(0, INT32_MAX), c.set_integer(4, INT32_MIN);  // sums that wrap
    HostTensor const before = c;
    REQUIRE(simulate(module, {a.view(), b.view(), c.view()}).clean());
    if (!attributes.empty())  // as on tensor cores, the 10 upper bits of the fraction count
      for (HostTensor* each : {&a, &b})
        for (std::int64_t i = 0; i < each->count(); ++i)
          each->set(i, ir::Constant{lhs, each->get(i).bits & 0xFFFFE000U});
    samples::Comparison all(1);
    for (int i = 0; i < 5; ++i)
      for (int j = 0; j < 3; ++j) {
        double exact = before(i, j), size = std::fabs(exact);
        for (int k = 0; k < 17; ++k) exact += a(i, k) * b(k, j), size += std::fabs(a(i, k) * b(k, j));
        bool const whole = sum == Element::i32;
        if (whole) exact = ir::to_double(ir::make_constant(sum, static_cast<std::int64_t>(exact)));
        double const unit = whole ? 0 : 18 * size * (sum == Element::f64 ? 0x1p-52 : 0x1p-23);
        all.add(i * 3 + j, c(i, j), exact, unit, false);  // C has its sums from the start
      }
    CHECK(all.failure() == "");
  }
}

void control_flow() {
  auto const module = module_of(R"(function @square(%x: i64, %t: in tensor<?xi64>) -> (i64, i64) {
  %0 = mul %x, %x : i64
  %1 = extent %t : i64
  return %0, %1
}
kernel @k(%lo: i64, %hi: i64, %step: i64, %x: in tensor<?xi64>, %out: out tensor<?xi64>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %2 = constant {value = 2 : i64} : i64
  %sum, %trips, %last = for %i = %lo to %hi step %step carry (%s = %0, %n = %0, %p = %0) : i64, i64, i64 {
    %odd = rem %i, %2 : i64
    %is = compare %odd, %1 : bool
    %v = if %is : i64 {
      %sq, %len = call %i, %x {callee = @square} : i64, i64
      %w = add %sq, %len : i64
      yield %w
    } else {
      yield %i
    }
    %s1 = add %s, %v : i64
    %n1 = add %n, %1 : i64
    yield %s1, %n1, %s
  }
  %3 = splat %sum : tile<1xi64>
  %4 = splat %trips : tile<1xi64>
  %5 = splat %last : tile<1xi64>
  store %out, %3, %0
  store %out, %4, %1
  store %out, %5, %2
  return
})");
  HostTensor x(Element::i64, {100}), out(Element::i64, {3});
  struct Range {
    std::int64_t lo, hi, step;
  };
  for (Range const r : {Range{0, 10, 1}, Range{0, 10, 3}, Range{5, 5, 1}, Range{7, 2, 1}, Range{-4, 9, 2},
                        Range{0, 1, 100}, Range{INT64_MAX - 3, INT64_MAX, 2}}) {
    auto const integer = [](std::int64_t value) { return ir::make_constant(Element::i64, value); };
    auto const outcome = simulate(module, {integer(r.lo), integer(r.hi), integer(r.step), x.view(), out.view()});
    std::uint64_t sum = 0, trips = 0, last = 0;
    for (Wide i = r.lo; i < r.hi; i += r.step) {
      last = sum;
      sum += i % 2 == 1 ? static_cast<std::uint64_t>(i) * static_cast<std::uint64_t>(i) + 100
                        : static_cast<std::uint64_t>(i);
      ++trips;
    }
    CHECK(out.integer(0) == static_cast<std::int64_t>(sum));
    CHECK(out.integer(1) == static_cast<std::int64_t>(trips));
    CHECK(out.integer(2) == static_cast<std::int64_t>(last));
    INFO(outcome.str());
    CHECK(outcome.clean());  // squares near the greatest i64 wrap: they are data
  }
}

void borders() {
  auto const module = module_of(R"(kernel @k(%x: in tensor<?x?xf32>, %y: out tensor<?x?xf32>, %i: i64, %j: i64) {
  %t = load %x, %i, %j {pad = 7.5 : f32} : tile<4x8xf32>
  store %y, %t, %i, %j
  return
})");
  std::mt19937_64 random(25);
  for (std::int64_t i :
       {std::int64_t{-5}, std::int64_t{-2}, std::int64_t{0}, std::int64_t{3}, std::int64_t{6}, INT64_MIN, INT64_MAX}) {
    for (std::int64_t j : {std::int64_t{-9}, std::int64_t{-3}, std::int64_t{0}, std::int64_t{4}, INT64_MAX - 2}) {
      HostTensor x(Element::f32, {6, 9}, 3);
      HostTensor y = HostTensor::transposed(Element::f32, {5, 7});
      x.fill(random);
      for (std::int64_t n = 0; n < y.count(); ++n) y.set_number(n, -1);
      REQUIRE(
          simulate(module, {x.view(), y.view(), ir::make_constant(Element::i64, i), ir::make_constant(Element::i64, j)})
              .clean());
      CHECK(y.gaps_untouched());
      for (int r = 0; r < 5; ++r)
        for (int c = 0; c < 7; ++c) {
          bool const in_box = r >= i && static_cast<Wide>(r) - i < 4 && c >= j && static_cast<Wide>(c) - j < 8;
          CHECK(y(r, c) == (in_box ? (r < 6 && c < 9 ? x(r, c) : 7.5) : -1));
        }
    }
  }
}

void launch() {
  auto const module = module_of(R"(kernel @k(%x: in tensor<?x?xf32>, %n: i32, %out: out tensor<?x?x?xi64>) {
  %c4 = constant {value = 4 : i64} : i64
  %e0 = extent %x : i64
  %e1 = extent %x {axis = 1} : i64
  %g0 = ceil_div %e0, %c4 : i64
  %n64 = cast %n : i64
  %ok = compare %e1, %n64 {predicate = le} : bool
  require %ok {message = "k: x has more columns than n"}
  grid %g0, %e1, %n64
  %b0 = block_index : i64
  %b1 = block_index {axis = 1} : i64
  %b2 = block_index {axis = 2} : i64
  %ten = constant {value = 10 : i64} : i64
  %s0 = mul %b0, %ten : i64
  %s1 = add %s0, %b1 : i64
  %s2 = mul %s1, %ten : i64
  %s3 = add %s2, %b2 : i64
  %t = splat %s3 : tile<1xi64>
  store %out, %t, %b0, %b1, %b2
  return
})");
  HostTensor x(Element::f32, {9, 2}), out(Element::i64, {3, 2, 4});
  sim::Arguments const arguments = {x.view(), ir::make_constant(Element::i32, std::int64_t{4}), out.view()};
  CHECK(sim::launch_grid(module.kernel(), arguments) == sim::Grid{3, 2, 4});
  auto const outcome = simulate(module, arguments);
  REQUIRE(outcome.clean());
  CHECK(outcome.blocks == 24);
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 2; ++j)
      for (int k = 0; k < 4; ++k) CHECK(out(i, j, k) == 100 * i + 10 * j + k);
  sim::Arguments const refused = {x.view(), ir::make_constant(Element::i32, std::int64_t{1}), out.view()};
  CHECK_THROWS_WITH(sim::run(module.kernel(), refused), test::ContainsSubstring("k: x has more columns than n"));
}

/// Uses a persistent grid: as many blocks as multiprocessors, each with every fourth tile.
void staying_grid() {
  auto const module = module_of(R"(kernel @k(%x: in tensor<?xi64>, %out: out tensor<?xi64>) {
  %n = extent %x : i64
  %p = multiprocessors : i64
  %g = min %n, %p : i64
  grid %g
  %b = block_index : i64
  %e = grid_extent : i64
  %one = grid_extent {axis = 2} : i64
  for %i = %b to %n step %e {
    %v = load %x, %i : tile<1xi64>
    %ten = constant {value = 10 : i64} : i64
    %s = mul %e, %ten : i64
    %q = multiprocessors : i64
    %u = add %s, %q : i64
    %w = sub %u, %one : i64
    %t = splat %w : tile<1xi64>
    %r = add %v, %t : tile<1xi64>
    store %out, %r, %i
    yield
  }
  return
})");
  for (int const n : {0, 3, 4, 11}) {
    HostTensor x(Element::i64, {n}), out(Element::i64, {n});
    for (int i = 0; i < n; ++i) x.set_number(i, 1000 * i);
    auto const outcome = simulate(module, {x.view(), out.view()});
    REQUIRE(outcome.clean());
    CHECK(outcome.blocks == std::min(n, 4));
    for (int i = 0; i < n; ++i) CHECK(out(i) == 1000 * i + 10 * std::min(n, 4) + 4 - 1);
  }
}

void constants() {
  auto const module = module_of(
      R"(kernel @k(%a: out tensor<?xbool>, %b: out tensor<?xi32>, %c: out tensor<?xf16>, %d: out tensor<?xf64>, %e: out tensor<?xi8>, %f: out tensor<?xe4m3>, %g: out tensor<?xe5m2>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = true : bool} : tile<3xbool>
  %2 = constant {value = -7 : i32} : tile<3xi32>
  %3 = constant {value = -inf : f16} : tile<3xf16>
  %4 = constant {value = 0.1 : f64} : tile<3xf64>
  %5 = constant {value = -128 : i8} : tile<3xi8>
  %6 = constant {value = 0.002 : e4m3} : tile<3xe4m3>
  %7 = constant {value = 0x7c : e5m2} : tile<3xe5m2>
  store %a, %1, %0
  store %b, %2, %0
  store %c, %3, %0
  store %d, %4, %0
  store %e, %5, %0
  store %f, %6, %0
  store %g, %7, %0
  return
})");
  HostTensor a(Element::boolean, {3}), b(Element::i32, {3}), c(Element::f16, {3}), d(Element::f64, {3}),
      e(Element::i8, {3}), f(Element::e4m3, {3}), g(Element::e5m2, {3});
  REQUIRE(simulate(module, {a.view(), b.view(), c.view(), d.view(), e.view(), f.view(), g.view()}).clean());
  CHECK(a.integer(2) == 1);
  CHECK(b.integer(0) == -7);
  CHECK(std::isinf(c.number(1)));
  CHECK(d.number(2) == 0.1);
  CHECK(e.integer(1) == -128);
  CHECK(f.number(0) == 0x1p-9);
  CHECK(std::isinf(g.number(2)));
}

/// Loads from a slice of a slice, stores to one, and returns its extents; begins and ends are clipped.
void slices() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?xi32>, %b: in tensor<?xi64>, %y: out tensor<?x?xi32>, %n: out tensor<?xi64>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %2 = constant {value = 2 : i64} : i64
  %begin = load %b, %0 : i64
  %end = load %b, %1 : i64
  %rows = slice %x, %begin, %end : tensor<?x?xi32>
  %part = slice %rows, %1, %2 {axis = 1} : tensor<?x?xi32>
  %v = load %part, %0, %0 {pad = -9 : i32} : tile<4x2xi32>
  %into = slice %y, %2, %begin {axis = 1} : tensor<?x?xi32>
  store %into, %v, %0, %0
  %e0 = extent %part : i64
  %e1 = extent %part {axis = 1} : i64
  %t0 = splat %e0 : tile<1xi64>
  %t1 = splat %e1 : tile<1xi64>
  store %n, %t0, %0
  store %n, %t1, %1
  return
})");
  HostTensor x(Element::i32, {5, 3});
  for (int k = 0; k < 15; ++k) x.set_number(k, 10 + k);
  for (auto const& [begin, end] : {std::pair<int, int>{3, 5}, {-2, 9}, {4, 1}, {7, 8}}) {
    HostTensor b(Element::i64, {2}), y(Element::i32, {4, 5}), n(Element::i64, {2});
    b.set_number(0, begin);
    b.set_number(1, end);
    for (int k = 0; k < 20; ++k) y.set_number(k, -5);
    REQUIRE(simulate(module, {x.view(), b.view(), y.view(), n.view()}).clean());
    int const first = std::clamp(begin, 0, 5), last = std::clamp(end, first, 5);
    int const stored = std::clamp(begin, 2, 5) - 2;  // columns from 2 on
    INFO("rows " << begin << " to " << end);
    CHECK(n(0) == last - first);
    CHECK(n(1) == 1);
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 5; ++column) {
        double expected = -5;
        if (column >= 2 && column < 2 + std::min(stored, 2))
          expected = column == 2 && first + row < last ? 10 + 3 * (first + row) + 1 : -9;
        CHECK(y(row, column) == expected);
      }
  }
}

/// Gathers, scatters and changes elements at indices, some of which lie outside; loads one element.
void indices() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?xi32>, %i: in tensor<?xi32>, %y: out tensor<?xi32>, %n: inout tensor<?xi32>, %o: out tensor<?xi32>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %at = load %i, %0 : tile<4xi32>
  %row = load %i, %1 : i32
  %row64 = cast %row : i64
  %g = gather %x, %row64, %at {pad = -1 : i32} : tile<4xi32>
  scatter %y, %g, %at
  %five = constant {value = 5 : i32} : tile<4xi32>
  %seven = constant {value = 7 : i32} : tile<4xi32>
  %a = atomic_update %n, %five, %at {combine = max} : tile<4xi32>
  %b = compare_exchange %n, %five, %seven, %at : tile<4xi32>
  %s = add %a, %b : tile<4xi32>
  store %o, %s, %0
  return
})");
  HostTensor x(Element::i32, {3, 4}), i(Element::i32, {4}), y(Element::i32, {4}), n(Element::i32, {4}),
      o(Element::i32, {4});
  for (int k = 0; k < 12; ++k) x.set_number(k, 10 + k);
  int const at[] = {3, 2, -1, 0}, before[] = {1, 2, 9, 9};
  for (int k = 0; k < 4; ++k) {
    i.set_number(k, at[k]);
    n.set_number(k, before[k]);
    y.set_number(k, -5);
  }
  REQUIRE(simulate(module, {x.view(), i.view(), y.view(), n.view(), o.view()}).clean());
  // Row 2 of x at columns 3, 2, outside, 0.
  int const scattered[] = {18, -5, 20, 21}, after[] = {7, 2, 9, 9}, olds[] = {9 + 9, 9 + 9, 0, 1 + 5};
  for (int k = 0; k < 4; ++k) {
    CHECK(y(k) == scattered[k]);
    CHECK(n(k) == after[k]);
    CHECK(o(k) == olds[k]);
  }
}

/// Repeats: collatz steps until 1.
void repetition() {
  auto const module = module_of(R"(kernel @k(%n: i64, %y: out tensor<?xi64>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %2 = constant {value = 2 : i64} : i64
  %3 = constant {value = 3 : i64} : i64
  %last, %steps = repeat carry (%a = %n, %c = %0) : i64, i64 {
    %half = div %a, %2 : i64
    %rest = rem %a, %2 : i64
    %odd = compare %rest, %1 {predicate = eq} : bool
    %triple = mul %a, %3 : i64
    %up = add %triple, %1 : i64
    %next = select %odd, %up, %half : i64
    %count = add %c, %1 : i64
    %go = compare %next, %1 {predicate = ne} : bool
    yield %go, %next, %count
  }
  %t = splat %steps : tile<1xi64>
  store %y, %t, %0
  return
})");
  HostTensor y(Element::i64, {1});
  REQUIRE(simulate(module, {ir::make_constant(Element::i64, std::int64_t{27}), y.view()}).clean());
  CHECK(y(0) == 111);
}

/// Asserts and prints: a failed assert is reported with its block, and the run goes on.
void messages() {
  auto const module = module_of(R"(kernel @k(%x: in tensor<?xi32>, %y: out tensor<?xi32>) {
  %0 = constant {value = 0 : i64} : i64
  %2 = constant {value = 2 : i64} : i64
  grid %2
  %b = block_index : i64
  %at = mul %b, %2 : i64
  %t = load %x, %at : tile<2xi32>
  %none = constant {value = 0 : i32} : tile<2xi32>
  %good = compare %t, %none {predicate = ge} : tile<2xbool>
  assert %good, %b, %0, %0 {message = "not below 0", file = "k.cpp", line = 7}
  print %b, %0, %0, %b, %t {text = "tile"}
  store %y, %t, %at
  return
})");
  HostTensor x(Element::i32, {4}), y(Element::i32, {4});
  for (int i = 0; i < 4; ++i) x.set_number(i, i);
  CHECK(simulate(module, {x.view(), y.view()}).clean());
  x.set_number(3, -1);
  sim::Result const failed = simulate(module, {x.view(), y.view()});
  REQUIRE(failed.reports.size() == 1);
  CHECK(failed.reports[0].kind == sim::ReportKind::failed_assert);
  CHECK_THAT(failed.str(), test::ContainsSubstring("k[1, 0, 0]: device_assert failed: not below 0"));
  CHECK(y(3) == -1);
}

void logs() {
  auto const module = module_of(R"(kernel @k() {
  %2 = constant {value = 2 : i64} : i64
  grid %2
  %g = buffer_alloc {symbol = "tegula_profile"} : global<56xi64, dense>
  %l = profile_begin %g {rows = 3, slots = 8} : i64
  %b = block_index : i64
  record %b {name = "unheard"}
  profile_append %l, %b {name = "block"}
  profile_append %l {event = stop, name = "block"}
  profile_end %l
  return
})");
  std::vector<std::byte> bytes;
  sim::Options options;
  options.profile = &bytes;
  CHECK(simulate(module, {}, options).clean());
  ProfileLayout layout;
  layout.rows = 3;
  layout.slots = 8;
  layout.names.push_back({"block", "", 0, RecordKind::user});
  auto const rows = test::log_rows(layout, bytes);
  REQUIRE(rows.size() == 2);
  CHECK(test::text_of(rows[0]) == "+block =0 -block");
  CHECK(test::text_of(rows[1]) == "+block =1 -block");
  CHECK(rows[1].header.stop_time > rows[1].header.start_time);
}

}  // namespace

TEST_CASE("shape ops move elements where they belong", "[sim][F30]") { shapes(); }
TEST_CASE("tiles are reshaped, cut and put one after the other", "[sim][F30]") { regrouped(); }
TEST_CASE("a layout conversion keeps every element", "[sim][F30]") { layout_conversion(); }
TEST_CASE("reductions along every axis", "[sim][F30]") { reductions(); }
TEST_CASE("scans start, run and end as their attributes say", "[sim][F30]") { scans(); }
/// Loads and stores through tensors whose axes changed places, of a slice and with a slice, and returns their extents.
void permutations() {
  auto const module = module_of(
      R"(kernel @k(%x: in tensor<?x?x?xi32>, %y: out tensor<?x?x?xi32>, %n: out tensor<?xi64>) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %3 = constant {value = 3 : i64} : i64
  %p = permute %x {permutation = [1, 0, 2]} : tensor<?x?x?xi32>
  %rows = slice %p, %1, %3 {axis = 1} : tensor<?x?x?xi32>
  %v = load %rows, %1, %0, %0 {pad = -9 : i32} : tile<3x5xi32>
  %q = permute %y {permutation = [1, 0, 2]} : tensor<?x?x?xi32>
  store %q, %v, %1, %0, %0
  %e = extent %q : i64
  %t = splat %e : tile<1xi64>
  store %n, %t, %0
  return
})");
  HostTensor x(Element::i32, {4, 2, 5}), y(Element::i32, {3, 2, 5}), n(Element::i64, {1});
  for (int k = 0; k < 40; ++k) x.set_number(k, 100 + k);
  for (int k = 0; k < 30; ++k) y.set_number(k, -5);
  REQUIRE(simulate(module, {x.view(), y.view(), n.view()}).clean());
  CHECK(n(0) == 2);
  for (int i = 0; i < 3; ++i)
    for (int k = 0; k < 5; ++k) {
      CHECK(y(i, 0, k) == -5);
      CHECK(y(i, 1, k) == (i < 2 ? x(i + 1, 1, k) : -9));
    }
}

/// Tables of elements of several widths, in row-major order.
void tables() {
  auto const module = module_of(
      R"(kernel @k(%f: out tensor<?x?xf32>, %h: out tensor<?xf16>, %i: out tensor<?xi16>) {
  %0 = constant {value = 0 : i64} : i64
  %a = table {data = "0000803f00000040000040400000804000000080000080ff"} : tile<2x3xf32>
  store %f, %a, %0, %0
  %b = table {data = "003c00c0"} : tile<2xf16>
  store %h, %b, %0
  %c = table {data = "ffff0180ff7f"} : tile<3xi16>
  store %i, %c, %0
  return
})");
  HostTensor f(Element::f32, {2, 3}), h(Element::f16, {2}), i(Element::i16, {3});
  REQUIRE(simulate(module, {f.view(), h.view(), i.view()}).clean());
  for (int k = 0; k < 4; ++k) CHECK(f.number(k) == k + 1);
  CHECK((f.number(4) == 0 && std::signbit(f.number(4))));
  CHECK(std::isinf(f.number(5)));
  CHECK((h.number(0) == 1 && h.number(1) == -2));
  CHECK((i.integer(0) == -1 && i.integer(1) == -32767 && i.integer(2) == 32767));
}

TEST_CASE("dot adds the product to the accumulator", "[sim][F30]") { dots(); }
TEST_CASE("loops, branches and calls", "[sim][F30]") { control_flow(); }
TEST_CASE("loads pad and stores drop outside the tensor", "[sim][F30]") { borders(); }
TEST_CASE("grid, requirement, extents and block indices", "[sim][F30]") { launch(); }
TEST_CASE("a grid of multiprocessors strides over the tiles", "[sim][F30]") { staying_grid(); }
TEST_CASE("constants of every element", "[sim][F30]") { constants(); }

TEST_CASE("slices of tensors are clipped to them, and count from their begin", "[sim]") { slices(); }

TEST_CASE("permuted tensors have their axes in another order", "[sim]") { permutations(); }
TEST_CASE("tables give their bytes as elements", "[sim]") { tables(); }

TEST_CASE("elements at indices are gathered, scattered and changed", "[sim][F30]") { indices(); }
TEST_CASE("a repeat runs until its condition fails", "[sim][F30]") { repetition(); }
TEST_CASE("a failed assert is reported with its block", "[sim][F30][F38]") { messages(); }
TEST_CASE("a log holds the records of each block", "[sim][P1]") { logs(); }

TEST_CASE("butterflies exchange neighbours; unequal elements are not taken for equal ones", "[sim][F30]") {
  butterflies();
  flips();
  auto const module = module_of(R"(kernel @k(%x: in tensor<?xi32>, %y: out tensor<?xi32>) {
  %0 = constant {value = 0 : i64} : i64
  %a = load %x, %0 : tile<4xi32>
  %b = extract %a {offsets = [0], uniform = true} : tile<1xi32>
  store %y, %b, %0
  return
})");
  HostTensor x(Element::i32, {4}), y(Element::i32, {1});
  for (int i = 0; i < 4; ++i) x.set_integer(i, 7);
  REQUIRE(simulate(module, {x.view(), y.view()}).clean());
  CHECK(y.integer(0) == 7);
  x.set_integer(2, 8);
  CHECK_THROWS_WITH(simulate(module, {x.view(), y.view()}),
                    test::ContainsSubstring("extract: the elements along the axes that it cuts are not equal"));
}

TEST_CASE("every op of the table is tested", "[sim][F30]") {
  for (auto const check : test::elementwise_checks()) check();
  for (auto const check : {shapes,  regrouped, butterflies,  flips,   items,      layout_conversion, reductions,
                           scans,   dots,      control_flow, borders, launch,     staying_grid,      constants,
                           indices, slices,    permutations, tables,  repetition, messages,          logs})
    check();
  for (int kind = 0; kind < ir::op_kind_count; ++kind) {
    if (ir::op_info(static_cast<ir::OpKind>(kind)).is_block_op()) continue;  // block_ops_test.cpp
    INFO(ir::op_info(static_cast<ir::OpKind>(kind)).mnemonic);
    CHECK(test::exercised_ops().count(static_cast<ir::OpKind>(kind)) == 1);
  }
}

TEST_CASE("a pairwise sum is the balanced tree, bit by bit", "[sim]") {
  auto const module = module_of(R"(kernel @k(%x: in tensor<?xf32>, %y: out tensor<?xf32>) {
  %0 = constant {value = 0 : i64} : i64
  %a = load %x, %0 : tile<7xf32>
  %r = reduce %a {axis = 0, combine = sum, order = pairwise} : tile<1xf32>
  store %y, %r, %0
  return
})");
  std::mt19937_64 random(23);
  for (int i = 0; i < 50; ++i) {
    HostTensor x(Element::f32, {7}), y(Element::f32, {1});
    x.fill(random, -1e6, 1);
    REQUIRE(simulate(module, {x.view(), y.view()}).clean());
    auto const v = [&](int k) { return static_cast<float>(x(k)); };
    float const s01 = v(0) + v(1), s23 = v(2) + v(3), s45 = v(4) + v(5);
    float const s03 = s01 + s23, s46 = s45 + v(6);
    CHECK(static_cast<float>(y(0)) == s03 + s46);
  }
}

TEST_CASE("a tile of lower rank takes one element of each leading axis", "[sim]") {
  auto const module = module_of(R"(kernel @k(%x: in tensor<?x?x?xf16>, %y: out tensor<?x?x?xf16>, %b: i64) {
  %0 = constant {value = 0 : i64} : i64
  %1 = constant {value = 1 : i64} : i64
  %t = load %x, %b, %1, %0 : tile<5xf16>
  store %y, %t, %b, %0, %0
  return
})");
  std::mt19937_64 random(26);
  HostTensor x(Element::f16, {3, 2, 5}), y(Element::f16, {3, 1, 4});
  x.fill(random);
  REQUIRE(simulate(module, {x.view(), y.view(), ir::make_constant(Element::i64, std::int64_t{2})}).clean());
  for (int i = 0; i < 4; ++i) CHECK(y(2, 0, i) == x(2, 1, i));
  // A leading offset outside the tensor gives padding and stores nothing.
  HostTensor const before = y;
  REQUIRE(simulate(module, {x.view(), y.view(), ir::make_constant(Element::i64, std::int64_t{3})}).clean());
  for (int i = 0; i < 4; ++i) CHECK(y(2, 0, i) == before(2, 0, i));
}
