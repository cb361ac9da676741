// Tests ops that move elements, and those along an axis: shapes, exchanges, scans, reductions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <string>
#include <vector>

#include "ops_support.hpp"
#include "layout/layout.hpp"
#include "support/log_rows.hpp"

using namespace tegula;
using test::HostTensor;
using test::module_of;
using test::simulate;

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

ir::Module module_of_places(std::string const& op, std::size_t extent) {
  return module_of(
      fmt::format("kernel @k(%x: in tensor<?xi32>, %p: in tensor<?xi32>, %y: out tensor<?xi32>) {{\n"
                  "  %0 = constant {{value = 0 : i64}} : i64\n  %a = load %x, %0 : tile<6xi32>\n"
                  "  %b = load %p, %0 : tile<6xi32>\n  %few = constant {{value = 10 : i32}} : tile<3xi32>\n"
                  "  %r = {} : tile<{}xi32>\n  store %y, %r, %0\n  return\n}}\n",
                  op, extent));
}

void places() {
  HostTensor x(Element::i32, {6}), p(Element::i32, {6});
  double const values[] = {2, 0, 2, -1, 3, 2}, at[] = {3, 5, 0, 1, 2, 4};
  for (int i = 0; i < 6; ++i) x.set_number(i, values[i]);
  for (int i = 0; i < 6; ++i) p.set_number(i, at[i]);
  auto const run = [&](std::string const& op, std::vector<double> const& expected) {
    auto const module = module_of_places(op, expected.size());
    HostTensor y(Element::i32, {static_cast<std::int64_t>(expected.size())});
    INFO(op);
    REQUIRE(simulate(module, {x.view(), p.view(), y.view()}).clean());
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(y.number(static_cast<std::int64_t>(i)) == expected[i]);
  };
  run("histogram %a", {1, 0, 3});
  run("histogram %a", {1, 0, 3, 1, 0});
  run("ranks %a, %few", {10, 10, 11, -1, -1, 12});
  run("take %b, %a", {0, 3, 0, 0, 1, 0});
  run("put %a, %b", {2, -1, 3, 2, 2, 0});
  auto const twice = module_of_places("put %b, %a", 6);
  HostTensor y(Element::i32, {6});
  CHECK_THROWS_WITH(simulate(twice, {x.view(), p.view(), y.view()}),
                    test::ContainsSubstring("put: place 2 is named twice, but each of 0 to 5 must be named once"));
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

}  // namespace

std::vector<void (*)()> test::shape_checks() {
  return {shapes, regrouped, butterflies, flips, items, layout_conversion, reductions, scans, places};
}

TEST_CASE("shape ops move elements where they belong", "[sim][F30]") { shapes(); }
TEST_CASE("tiles are reshaped, cut and put one after the other", "[sim][F30]") { regrouped(); }
TEST_CASE("a layout conversion keeps every element", "[sim][F30]") { layout_conversion(); }
TEST_CASE("reductions along every axis", "[sim][F30]") { reductions(); }
TEST_CASE("scans start, run and end as their attributes say", "[sim][F30]") { scans(); }

TEST_CASE("elements are counted, ranked, taken from places and put there", "[sim][F30]") { places(); }

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
