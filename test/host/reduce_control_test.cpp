// Reductions, loops, branches and calls on the host against the simulator.
#include "driver.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace {

using namespace tegula;
using namespace tegula::test;

std::string reduce_text(Extents const& shape, int axis, std::string const& element, std::string const& combine,
                        std::string const& order) {
  std::string in;
  std::string out;
  std::string unknown;
  std::string zeros;
  for (int i = 0; i < shape.size(); ++i) {
    in += fmt::format("{}x", shape[i]);
    out += fmt::format("{}x", i == axis ? 1 : shape[i]);
    unknown += "?x";
    zeros += ", %o";
  }
  return fmt::format(
      "kernel @r(%a: in tensor<{unknown}{element}>, %c: out tensor<{unknown}{element}>) {{\n"
      "  %o = constant {{value = 0 : i64}} : i64\n"
      "  %x = load %a{zeros} : tile<{in}{element}>\n"
      "  %y = add %x, %x : tile<{in}{element}>\n"
      "  %r = reduce %y {{axis = {axis}, combine = {combine}, order = {order}}} : tile<{out}{element}>\n"
      "  store %c, %r{zeros}\n"
      "  return\n"
      "}}\n",
      fmt::arg("unknown", unknown), fmt::arg("element", element), fmt::arg("zeros", zeros), fmt::arg("in", in),
      fmt::arg("axis", axis), fmt::arg("combine", combine), fmt::arg("order", order), fmt::arg("out", out));
}

TEST_CASE("reductions over every axis", "[host]") {
  struct Case {
    Extents shape;
    int axis;
    std::vector<std::int64_t> extents;
  };
  for (Case const& c : {Case{{100}, 0, {90}}, Case{{1, 1000}, 1, {1, 777}}, Case{{33, 20}, 0, {30, 20}},
                        Case{{33, 20}, 1, {33, 20}}, Case{{64, 1}, 0, {60, 1}}, Case{{5, 6, 7}, 1, {5, 6, 7}},
                        Case{{5, 6, 7}, 0, {4, 6, 7}}, Case{{1, 1}, 0, {1, 1}}, Case{{3, 1}, 1, {3, 1}}}) {
    bool const plain = c.shape.size() == 1;
    for (Element element : {Element::i32, Element::i64, Element::f16, Element::bf16, Element::f32, Element::f64})
      for (char const* combine : {"sum", "max", "min"}) {
        // All elements on one shape, the ones that are held differently on the others.
        if (!plain && (is_integer(element) || element == Element::f64 || *combine == 'm') &&
            (element != Element::f32 || std::string(combine) == "min"))
          continue;
        std::vector<std::int64_t> result = c.extents;
        result[static_cast<std::size_t>(c.axis)] = 1;
        Array a(element, c.extents), r(element, result);
        a.randomise(3);
        bool const sum = std::string(combine) == "sum";
        bool const exact = !sum || is_integer(element);
        INFO(combine << " of " << name(element) << " over axis " << c.axis << " of rank " << c.shape.size());
        check_against_simulator(reduce_text(c.shape, c.axis, std::string(name(element)), combine, "any"), {a, r},
                                exact                 ? 0
                                : bits(element) == 16 ? 1e-2
                                                      : 1e-5);
        check_against_simulator(reduce_text(c.shape, c.axis, std::string(name(element)), combine, "pairwise"), {a, r});
      }
  }
}

TEST_CASE("extremes of NaN follow max and min", "[host]") {
  Array a(Element::f32, {40}), r(Element::f32, {1});
  for (int i = 0; i < 40; ++i) a.set(i, NAN);
  check_against_simulator(reduce_text({40}, 0, "f32", "max", "any"), {a, r});
  a.set(17, -3.0);
  check_against_simulator(reduce_text({40}, 0, "f32", "max", "any"), {a, r});
  check_against_simulator(reduce_text({40}, 0, "f32", "min", "any"), {a, r});
  for (int i = 0; i < 40; ++i) a.set(i, -0.0);
  check_against_simulator(reduce_text({40}, 0, "f32", "sum", "any"), {a, r});
}

TEST_CASE("loops carry scalars and tiles, branches yield them", "[host]") {
  std::string const text = R"(
kernel @loops(%a: in tensor<?x?xf32>, %n: i64, %c: out tensor<?x?xf32>, %d: out tensor<?xf32>) {
  %o = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %three = constant {value = 3 : i64} : i64
  %x = load %a, %o, %o : tile<10x20xf32>
  %zero = constant {value = 0.0 : f32} : tile<10x20xf32>
  %half = constant {value = 0.5 : f32} : f32
  %tiny = constant {value = 1.0 : f32} : tile<1xf32>
  %s, %t, %u, %v = for %i = %o to %n step %three carry (%p = %x, %q = %zero, %f = %half, %w = %tiny) : tile<10x20xf32>, tile<10x20xf32>, f32, tile<1xf32> {
    %k = load %a, %i, %o : tile<10x20xf32>
    %p1 = mul %p, %k : tile<10x20xf32>
    %fs = splat %f : tile<10x20xf32>
    %q1 = add %p, %fs : tile<10x20xf32>
    %f1 = add %f, %half : f32
    %w0 = expand_dims %w {axes = [0]} : tile<1x1xf32>
    %wb = broadcast %w0 : tile<10x20xf32>
    %q2 = add %q1, %wb : tile<10x20xf32>
    %m = reduce %q {axis = 1, combine = max} : tile<10x1xf32>
    %m1 = reduce %m {axis = 0, combine = max} : tile<1x1xf32>
    %m2 = squeeze %m1 {axes = [0]} : tile<1xf32>
    %odd = rem %i, %three : i64
    %big = compare %i, %three {predicate = gt} : bool
    %w2, %f2 = if %big : tile<1xf32>, f32 {
      %w3 = add %m2, %w : tile<1xf32>
      yield %w3, %half
    } else {
      yield %m2, %f1
    }
    yield %q2, %p1, %f2, %w2
  }
  store %c, %s, %o, %o
  %ts = reduce %t {axis = 1, combine = min} : tile<10x1xf32>
  %t1 = squeeze %ts {axes = [1]} : tile<10xf32>
  %us = splat %u : tile<10xf32>
  %vb = broadcast %v : tile<10xf32>
  %r0 = add %t1, %us : tile<10xf32>
  %r1 = add %r0, %vb : tile<10xf32>
  store %d, %r1, %o
  return
}
)";
  for (std::int64_t n : {-5, 0, 1, 3, 4, 10}) {
    INFO("n = " << n);
    Array a(Element::f32, {9, 20}), c(Element::f32, {10, 18}), d(Element::f32, {10});
    check_against_simulator(text, {a.randomise(1), ir::make_constant(Element::i64, n), c, d});
  }
}

TEST_CASE("calls are inlined, also nested calls", "[host]") {
  std::string const text = R"(
function @twice(%x: tile<16xf32>, %s: f32) -> (tile<16xf32>) {
  %b = splat %s : tile<16xf32>
  %y = mul %x, %b : tile<16xf32>
  return %y
}
function @more(%x: tile<16xf32>) -> (tile<16xf32>, tile<1xf32>) noinline {
  %s = constant {value = 3.0 : f32} : f32
  %y = call %x, %s {callee = @twice} : tile<16xf32>
  %z = reduce %y {axis = 0, combine = max} : tile<1xf32>
  return %y, %z
}
kernel @calls(%a: in tensor<?xf32>, %c: out tensor<?xf32>) {
  %o = constant {value = 0 : i64} : i64
  %x = load %a, %o : tile<16xf32>
  %y, %m = call %x {callee = @more} : tile<16xf32>, tile<1xf32>
  %mb = broadcast %m : tile<16xf32>
  %z = sub %y, %mb : tile<16xf32>
  store %c, %z, %o
  return
}
)";
  Array a(Element::f32, {13}), c(Element::f32, {16});
  check_against_simulator(text, {a.randomise(1), c});
}

TEST_CASE("dots of every element, alone and beside other values", "[host]") {
  std::string const text = R"(
kernel @dots(%a: in tensor<?x?xEL>, %b: in tensor<?x?xEL>, %c: out tensor<?x?xAC>, %d: out tensor<?x?xAC>) {
  %o = constant {value = 0 : i64} : i64
  %x = load %a, %o, %o : tile<MxKxEL>
  %y = load %b, %o, %o : tile<NxKxEL>
  %yt = trans %y {permutation = [1, 0]} : tile<KxNxEL>
  %z = constant {value = 1.5 : AC} : tile<MxNxAC>
  %r = dot %x, %yt, %z : tile<MxNxAC>
  store %c, %r, %o, %o
  %y2 = add %yt, %yt : tile<KxNxEL>
  %r2 = dot %x, %y2, %r : tile<MxNxAC>
  %s = reduce %r2 {axis = 0, combine = max} : tile<1xNxAC>
  store %d, %s, %o, %o
  return
}
)";
  struct Case {
    int m, n, k;
  };
  for (Case const& c :
       {Case{16, 16, 16}, Case{13, 33, 7}, Case{30, 5, 100}, Case{1, 1, 1}, Case{4, 64, 1100}, Case{25, 48, 3}})
    for (Element element : {Element::f16, Element::bf16, Element::f32, Element::f64}) {
      Element const accumulator = element == Element::f64 ? Element::f64 : Element::f32;
      std::string filled = text;
      for (auto const& [from, to] : {std::pair<std::string, std::string>{"EL", std::string(name(element))},
                                     {"AC", std::string(name(accumulator))},
                                     {"<Mx", fmt::format("<{}x", c.m)},
                                     {"<Nx", fmt::format("<{}x", c.n)},
                                     {"<Kx", fmt::format("<{}x", c.k)},
                                     {"xNx", fmt::format("x{}x", c.n)},
                                     {"xKx", fmt::format("x{}x", c.k)}})
        for (auto at = filled.find(from); at != std::string::npos; at = filled.find(from, at + to.size()))
          filled.replace(at, from.size(), to);
      INFO(c.m << "x" << c.n << "x" << c.k << " of " << name(element));
      Array a(element, {c.m, c.k}, 1), b(element, {c.n, std::max(c.k - 2, 1)}), r(accumulator, {c.m, c.n}, 3),
          s(accumulator, {1, c.n});
      check_against_simulator(filled, {a.randomise(1), b.randomise(2), r, s}, element == Element::f64 ? 1e-13 : 1e-5);
    }
}

}  // namespace
