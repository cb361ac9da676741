// Tests elementwise ops, conversions, shape ops, loads and stores on the host against the simulator, bit for bit.
#include "driver.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "support/elementary.hpp"
#include "support/module.hpp"

namespace {

using namespace tegula;
using namespace tegula::test;

std::string replaced(std::string text, std::string const& from, std::string const& to) {
  for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

TEST_CASE("vadd is exact at ragged extents and strides", "[host]") {
  std::string const text = R"(
kernel @vadd(%a: in tensor<?xf32>, %b: in tensor<?xf32>, %c: out tensor<?xf32>) {
  %n = extent %c {axis = 0} : i64
  %t = constant {value = 1024 : i64} : i64
  %g = ceil_div %n, %t : i64
  grid %g
  %i = block_index {axis = 0} : i64
  %o = mul %i, %t : i64
  %x = load %a, %o : tile<1024xf32>
  %y = load %b, %o : tile<1024xf32>
  %s = add %x, %y : tile<1024xf32>
  store %c, %s, %o
  return
}
)";
  for (std::int64_t n : {0, 1, 7, 1000, 1024, 1025, 5000}) {
    INFO("n = " << n);
    Array a(Element::f32, {n}), b(Element::f32, {n}), c(Element::f32, {n});
    check_against_simulator(text, {a.randomise(1), b.randomise(2), c});
    Array strided(Element::f32, {n}, 0, 3), target(Element::f32, {n}, 0, 2);
    check_against_simulator(text, {strided.randomise(3), b, target});
    Array shorter(Element::f32, {n / 2});
    check_against_simulator(text, {shorter.randomise(4), b, c});
  }
}

TEST_CASE("a grid of multiprocessors strides over the tiles as in the simulator", "[host]") {
  std::string const text = R"(
kernel @scaled(%a: in tensor<?xf32>, %c: out tensor<?xf32>) {
  %n = extent %c {axis = 0} : i64
  %t = constant {value = 64 : i64} : i64
  %tiles = ceil_div %n, %t : i64
  %p = multiprocessors : i64
  %g = min %tiles, %p : i64
  grid %g
  %b = block_index : i64
  %e = grid_extent : i64
  for %i = %b to %tiles step %e {
    %o = mul %i, %t : i64
    %x = load %a, %o : tile<64xf32>
    %ep = mul %e, %p : i64
    %f = cast %ep : f32
    %s = splat %f : tile<64xf32>
    %r = mul %x, %s : tile<64xf32>
    store %c, %r, %o
    yield
  }
  return
}
)";
  for (std::int64_t n : {0, 1, 64, 200, 256, 1000}) {
    INFO("n = " << n);
    Array a(Element::f32, {n}), c(Element::f32, {n});
    check_against_simulator(text, {a.randomise(1), c});
  }
}

/// Computes z = op(x, y) over one block of 100 of 120 elements.
std::string binary_text(std::string const& op, std::string const& element, std::string const& result,
                        std::string const& attributes = "") {
  return replaced(replaced(R"(
kernel @binary(%a: in tensor<?xEL>, %b: in tensor<?xEL>, %c: out tensor<?xRE>) {
  %o = constant {value = 0 : i64} : i64
  %x = load %a, %o : tile<120xEL>
  %y = load %b, %o : tile<120xEL>
  %z = )" + op + " %x, %y " + attributes +
                               R"( : tile<120xRE>
  store %c, %z, %o
  return
}
)",
                           "EL", element),
                  "RE", result);
}

std::string unary_text(std::string const& op, std::string const& element, std::string const& result) {
  return replaced(replaced(R"(
kernel @unary(%a: in tensor<?xEL>, %c: out tensor<?xRE>) {
  %o = constant {value = 0 : i64} : i64
  %x = load %a, %o : tile<120xEL>
  %z = )" + op + R"( %x : tile<120xRE>
  store %c, %z, %o
  return
}
)",
                           "EL", element),
                  "RE", result);
}

/// Draws random values, critical ones included: extremes, zeros of both signs, infinities, NaN, subnormals, ties.
Array interesting(Element element, unsigned seed) {
  Array array(element, {100});
  array.randomise(seed);
  std::mt19937 engine(seed);
  std::vector<double> floats = {0.0,
                                -0.0,
                                INFINITY,
                                -INFINITY,
                                NAN,
                                1e-40,
                                -1e-40,
                                3e38,
                                65504,
                                65519,
                                65520,
                                65536,
                                6e-8,
                                3e-8,
                                2.5,
                                3.5,
                                -0.5,
                                1e-45,
                                1 + 0x1p-8,
                                1 + 0x1p-9,
                                1 + 3 * 0x1p-9,
                                1 + 0x1p-11,
                                1 + 3 * 0x1p-11,
                                2147483648.0,
                                -2147483649.0,
                                9.3e18,
                                1e300,
                                1e-310,
                                448,
                                463.5,
                                464,
                                61440,
                                -1e6,
                                0x1p-9,
                                0x1p-10,
                                0x1p-10 + 0x1p-20,
                                3 * 0x1p-10,
                                -7 * 0x1p-10,
                                0x1p-16,
                                0x1p-17,
                                3 * 0x1p-17,
                                0x1p-17 + 0x1p-60,
                                17 * 0x1p-10 - 0x1p-40};
  std::vector<std::int64_t> integers = {0,
                                        1,
                                        -1,
                                        2,
                                        -2,
                                        31,
                                        32,
                                        33,
                                        63,
                                        64,
                                        65,
                                        -128,
                                        127,
                                        128,
                                        464,
                                        465,
                                        -61441,
                                        std::numeric_limits<std::int32_t>::min(),
                                        std::numeric_limits<std::int32_t>::max()};
  if (element == Element::i64) {
    integers.push_back(std::numeric_limits<std::int64_t>::min());
    integers.push_back(std::numeric_limits<std::int64_t>::max());
    integers.push_back((std::int64_t{1} << 54) + 1);
    integers.push_back((std::int64_t{257} << 45) + 1);
  }
  for (std::int64_t i = 0; i < 70; ++i) {
    if (is_float(element))
      array.set(i, floats[engine() % floats.size()]);
    else if (element != Element::boolean)
      array.set(i, ir::make_constant(element, integers[engine() % integers.size()]));
  }
  return array;
}

TEST_CASE("arithmetic follows the op's rules on every element", "[host]") {
  for (Element element : {Element::i32, Element::u32, Element::i64, Element::u64, Element::f16, Element::bf16,
                          Element::f32, Element::f64}) {
    std::string const text_name(name(element));
    Array a = interesting(element, 1), b = interesting(element, 2), c(element, {100});
    std::vector<std::string> ops = {"add", "sub", "mul", "div", "min", "max"};
    if (is_integer(element))
      ops.insert(ops.end(), {"rem", "multiply_high", "ceil_div", "and", "or", "xor", "shl", "shr"});
    for (std::string const& op : ops) {
      INFO(op << " of " << text_name);
      if (op == "ceil_div") {
        // Defined for lhs >= 0 only.
        Array positive(element, {100});
        for (int i = 0; i < 100; ++i) positive.set(i, static_cast<double>(i * 7));
        check_against_simulator(binary_text(op, text_name, text_name), {positive, b, c});
      } else {
        check_against_simulator(binary_text(op, text_name, text_name), {a, b, c});
      }
    }
    Array flags(Element::boolean, {100});
    for (char const* predicate : {"eq", "ne", "lt", "le", "gt", "ge"}) {
      INFO("compare " << predicate << " of " << text_name);
      check_against_simulator(binary_text("compare", text_name, "bool", std::string("{predicate = ") + predicate + "}"),
                              {a, b, flags});
    }
    std::vector<std::string> unary = {"neg", "abs"};
    if (!is_float(element)) unary.push_back("not");
    for (std::string const& op : unary) {
      INFO(op << " of " << text_name);
      check_against_simulator(unary_text(op, text_name, text_name), {a, c});
    }
  }
  Array a = interesting(Element::boolean, 1), b = interesting(Element::boolean, 2), c(Element::boolean, {100});
  for (char const* op : {"and", "or", "xor"}) check_against_simulator(binary_text(op, "bool", "bool"), {a, b, c});
  check_against_simulator(unary_text("not", "bool", "bool"), {a, c});
}

TEST_CASE("conversions round once, truncate and saturate", "[host]") {
  for (ElementInfo const& from : element_table)
    for (ElementInfo const& to : element_table) {
      if (from.element == to.element || to.element == Element::boolean) continue;
      INFO(from.name << " to " << to.name);
      Array a = interesting(from.element, 5), c(to.element, {100});
      check_against_simulator(unary_text("cast", std::string(from.name), std::string(to.name)), {a, c});
    }
  Array a = interesting(Element::f32, 5), c(Element::i32, {100});
  check_against_simulator(unary_text("bitcast", "f32", "i32"), {a, c});
  Array d = interesting(Element::i64, 5), e(Element::f64, {100});
  check_against_simulator(unary_text("bitcast", "i64", "f64"), {d, e});
}

TEST_CASE("every code of an 8-bit float has the simulator's value on the host", "[host]") {
  for (Element element : {Element::e4m3, Element::e5m2})
    for (Element to : {Element::f32, Element::f16, Element::f64, Element::i8, Element::u8, Element::i16, Element::u16,
                       Element::e4m3, Element::e5m2}) {
      if (element == to) continue;
      INFO(name(element) << " to " << name(to));
      Array a(element, {256}), c(to, {256});
      for (std::int64_t i = 0; i < 256; ++i) a.set(i, ir::Constant{element, static_cast<std::uint64_t>(i)});
      std::string const text = unary_text("cast", std::string(name(element)), std::string(name(to)));
      check_against_simulator(replaced(text, "<120x", "<256x"), {a, c});
    }
}

TEST_CASE("the codes of an 8-bit float are cast to any float and back as by the simulator", "[host]") {
  std::string const text = R"(
kernel @there_and_back(%a: in tensor<?xEL>, %c: out tensor<?xEL>) {
  %o = constant {value = 0 : i64} : i64
  %x = load %a, %o : tile<256xEL>
  %y = cast %x : tile<256xRE>
  %z = cast %y : tile<256xEL>
  store %c, %z, %o
  return
}
)";
  constexpr std::int64_t codes = 255;  // the last one is what the driver writes before a run
  for (Element const element : {Element::e4m3, Element::e5m2})
    for (Element const to : {Element::f16, Element::bf16, Element::f32, Element::f64}) {
      INFO(name(element) << " through " << name(to));
      Array a(element, {codes}), c(element, {codes});
      for (std::int64_t i = 0; i < codes; ++i) a.set(i, ir::Constant{element, static_cast<std::uint64_t>(i)});
      check_against_simulator(replaced(replaced(text, "EL", std::string(name(element))), "RE", std::string(name(to))),
                              {a, c});
    }
}

TEST_CASE("a cast that changes nothing keeps infinities, the way back from a wider float saturates", "[host]") {
  ir::Constant const infinity{Element::e5m2, 0x7C}, largest{Element::e5m2, 0x7B};
  ir::Module const module = test::module_of(R"(
kernel @infinities(%a: in tensor<?xe5m2>, %same: out tensor<?xe5m2>, %back: out tensor<?xe5m2>) {
  %o = constant {value = 0 : i64} : i64
  %x = load %a, %o : tile<1xe5m2>
  %s = cast %x : tile<1xe5m2>
  %h = cast %x : tile<1xf16>
  %b = cast %h : tile<1xe5m2>
  store %same, %s, %o
  store %back, %b, %o
  return
}
)");
  Array a(Element::e5m2, {1}), same(Element::e5m2, {1}), back(Element::e5m2, {1});
  a.set(0, infinity);
  for (bool const simulated : {false, true}) {
    INFO((simulated ? "simulated" : "host"));
    same.set(0, {Element::e5m2, 0});
    back.set(0, {Element::e5m2, 0});
    if (simulated)
      CHECK(sim::run(module.kernel(), simulator_arguments({a, same, back})).clean());
    else
      run_on_host(module, {a, same, back});
    CHECK(same.get(0) == infinity);
    CHECK(back.get(0) == largest);
  }
}

TEST_CASE("elements that are only stored are moved, selected and padded on the host", "[host]") {
  std::string const text = R"(
kernel @moved(%a: in tensor<?x?xEL>, %n: EL, %c: out tensor<?x?xEL>, %d: out tensor<?x?xEL>) {
  %o = constant {value = 0 : i64} : i64
  %p = constant {value = -3 : i64} : i64
  %x = load %a, %p, %o {pad = PAD : EL} : tile<24x40xEL>
  %t = trans %x {permutation = [1, 0]} : tile<40x24xEL>
  store %c, %t, %o, %o
  %i = iota {axis = 0} : tile<24x40xi32>
  %j = iota {axis = 1} : tile<24x40xi32>
  %m = compare %i, %j {predicate = lt} : tile<24x40xbool>
  %s = splat %n : tile<24x40xEL>
  %y = select %m, %x, %s : tile<24x40xEL>
  store %d, %y, %o, %o
  return
}
)";
  for (Element element : {Element::i8, Element::u8, Element::i16, Element::u16, Element::e4m3, Element::e5m2})
    for (std::int64_t inner : {1, 2}) {
      INFO(name(element) << ", stride " << inner);
      Array a(element, {30, 37}, 2, inner), c(element, {37, 22}, 1, inner), d(element, {20, 39}, 0, inner);
      std::string const pad = info(element).kind == ElementKind::unsigned_integer ? "250" : "-7";
      check_against_simulator(replaced(replaced(text, "EL", std::string(name(element))), "PAD", pad),
                              {a.randomise(1), ir::make_constant(element, std::int64_t{-5}), c, d});
    }
}

TEST_CASE("elementary functions have the simulator's values", "[host]") {
  for (Element element : {Element::f16, Element::bf16, Element::f32, Element::f64})
    for (ElementaryRow const& row : elementary_rows) {
      INFO(row.name << " of " << name(element));
      Array a = interesting(element, 7), c(element, {100});
      double const tolerance = !row.expanded ? 0 : bits(element) == 16 ? 1e-2 : 1e-6;
      check_against_simulator(unary_text(row.name, std::string(name(element)), std::string(name(element))), {a, c},
                              tolerance);
    }
  for (Element element : {Element::f16, Element::bf16, Element::f32, Element::f64})
    for (ElementaryRow2 const& row : elementary_rows_2) {
      INFO(row.name << " of " << name(element));
      Array a = interesting(element, 7), b = interesting(element, 8), c(element, {100});
      check_against_simulator(binary_text(row.name, std::string(name(element)), std::string(name(element))), {a, b, c},
                              bits(element) == 16 ? 1e-2 : 1e-6);
    }
}

TEST_CASE("shape ops move elements and nothing else", "[host]") {
  std::string const text = R"(
kernel @shapes(%a: in tensor<?x?xf32>, %b: in tensor<?xf32>, %c: out tensor<?x?xf32>, %d: out tensor<?x?x?xf32>, %e: out tensor<?x?xi64>) {
  %o = constant {value = 0 : i64} : i64
  %p = constant {value = -3 : i64} : i64
  %x = load %a, %p, %o {pad = 7.5 : f32} : tile<24x40xf32>
  %t = trans %x {permutation = [1, 0]} : tile<40x24xf32>
  %r = load %b, %o : tile<24xf32>
  %r1 = expand_dims %r {axes = [0]} : tile<1x24xf32>
  %rb = broadcast %r1 : tile<40x24xf32>
  %s = add %t, %rb : tile<40x24xf32>
  store %c, %s, %o, %o
  %x3 = expand_dims %x {axes = [1]} : tile<24x1x40xf32>
  %y3 = trans %x3 {permutation = [2, 0, 1]} : tile<40x24x1xf32>
  %z2 = squeeze %y3 {axes = [2]} : tile<40x24xf32>
  %z3 = expand_dims %z2 {axes = [0]} : tile<1x40x24xf32>
  store %d, %z3, %o, %p, %o
  %i = iota {axis = 0} : tile<24x40xi64>
  %j = iota {axis = 1} : tile<24x40xi32>
  %jl = cast %j : tile<24x40xi64>
  %k = mul %i, %jl : tile<24x40xi64>
  store %e, %k, %o, %o
  return
}
)";
  for (std::int64_t inner : {1, 2}) {
    Array a(Element::f32, {30, 37}, 2, inner), b(Element::f32, {20}), c(Element::f32, {37, 22}, 1, inner),
        d(Element::f32, {1, 30, 24}), e(Element::i64, {20, 39}, 0, inner);
    check_against_simulator(text, {a.randomise(1), b.randomise(2), c, d, e});
  }
}

TEST_CASE("on the host a tile of lower rank takes one element of each leading axis", "[host]") {
  std::string const text = R"(
kernel @rows(%a: in tensor<?x?x?xbf16>, %s: i64, %c: out tensor<?x?x?xbf16>) {
  %h = extent %c {axis = 0} : i64
  %n = extent %c {axis = 1} : i64
  grid %h, %n
  %i = block_index {axis = 0} : i64
  %j = block_index {axis = 1} : i64
  %o = constant {value = 0 : i64} : i64
  %from = add %j, %s : i64
  %x = load %a, %i, %from, %o {pad = 1.0 : bf16} : tile<48xbf16>
  %y = add %x, %x : tile<48xbf16>
  store %c, %y, %i, %j, %o
  return
}
)";
  Array a(Element::bf16, {3, 5, 40}), c(Element::bf16, {3, 6, 33}, 2);
  for (std::int64_t shift : {0, 2, -1, -100})
    check_against_simulator(text, {a.randomise(1), ir::make_constant(Element::i64, shift), c});
}

TEST_CASE("a load sees the earlier stores of its block", "[host]") {
  std::string const text = R"(
kernel @in_place(%a: inout tensor<?xf32>, %n: f32) {
  %o = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %x = load %a, %o : tile<100xf32>
  %s = splat %n : tile<100xf32>
  %y = add %x, %s : tile<100xf32>
  store %a, %y, %one
  %z = load %a, %o : tile<100xf32>
  %w = mul %z, %y : tile<100xf32>
  store %a, %w, %o
  return
}
)";
  for (std::int64_t n : {1, 50, 100, 101, 150}) {
    Array a(Element::f32, {n});
    check_against_simulator(text, {a.randomise(1), ir::make_constant(Element::f32, 0.75)});
  }
}

TEST_CASE("stores keep their order after loads that run in other loops", "[host]") {
  std::string const text = R"(
kernel @order(%a: inout tensor<?xf32>, %c: out tensor<?xf32>, %d: out tensor<?xf32>) {
  %o = constant {value = 0 : i64} : i64
  %five = constant {value = 5 : i64} : i64
  %i = iota {axis = 0} : tile<32xi32>
  %f = cast %i : tile<32xf32>
  store %c, %f, %o
  %x = load %a, %five : tile<16xf32>
  store %a, %f, %o
  store %d, %x, %o
  %y = load %a, %five : tile<16xf32>
  %z = add %x, %y : tile<16xf32>
  store %a, %z, %o
  return
}
)";
  Array a(Element::f32, {40}), c(Element::f32, {30}), d(Element::f32, {16});
  check_against_simulator(text, {a.randomise(1), c, d});
}

TEST_CASE("fma rounds once, in tiles and in scalars", "[host]") {
  std::string const text = R"(
kernel @fused(%a: in tensor<?xf32>, %x: f32, %c: out tensor<?xf32>, %d: out tensor<?xf32>, %e: out tensor<?xf32>) {
  %o = constant {value = 0 : i64} : i64
  %t = load %a, %o {pad = 0 : f32} : tile<64xf32>
  %square = mul %t, %t : tile<64xf32>
  %minus = neg %square : tile<64xf32>
  %lost = fma %t, %t, %minus : tile<64xf32>
  store %c, %lost, %o
  %product = mul %x, %x : f32
  %less = neg %product : f32
  %rest = fma %x, %x, %less : f32
  %all = splat %rest : tile<3xf32>
  store %d, %all, %o
  %near = fma %t, %square, %t : tile<64xf32>
  %far = fma %near, %lost, %square : tile<64xf32>
  store %e, %far, %o
  return
}
)";
  Array a(Element::f32, {50}), c(Element::f32, {50}), d(Element::f32, {3}), e(Element::f32, {50});
  a.randomise(1);
  double const infinity = std::numeric_limits<double>::infinity();
  double const strange[] = {infinity, -infinity, std::nan(""), -0.0, 0x1p-140, 0x1p100, 0x1.fffffep127, 0x1.000002p-75};
  for (std::size_t i = 0; i < std::size(strange); ++i) a.set(static_cast<std::int64_t>(i), strange[i]);
  check_against_simulator(text, {a, ir::make_constant(Element::f32, 0.1), c, d, e});
}

TEST_CASE("fma of f64 needs a CPU with FMA instructions", "[host]") {
  ir::Module const module = parse(R"(
kernel @fused(%x: f64, %d: out tensor<?xf64>) {
  %o = constant {value = 0 : i64} : i64
  %product = mul %x, %x : f64
  %less = neg %product : f64
  %rest = fma %x, %x, %less : f64
  %all = splat %rest : tile<3xf64>
  store %d, %all, %o
  return
}
)");
  Array d(Element::f64, {3});
  RunOptions options;
  options.architecture = "x86-64-v3";
  run_on_host(module, {ir::make_constant(Element::f64, 0.1), d}, options);
  double volatile const product = 0.1 * 0.1;
  CHECK(d.value(0) == std::fma(0.1, 0.1, -product));
  options.architecture = "x86-64-v2";
  CHECK_THROWS_WITH(run_on_host(module, {ir::make_constant(Element::f64, 0.1), d}, options),
                    ContainsSubstring("fma of f64 needs a CPU with FMA instructions; multiply and add instead"));
}

TEST_CASE("scalars of every element reach the kernel", "[host]") {
  std::string const text = R"(
kernel @scalars(%b: bool, %t: i8, %i: i32, %l: i64, %p: e4m3, %q: e5m2, %h: f16, %g: bf16, %f: f32, %d: f64, %c: out tensor<?xf64>) {
  %o = constant {value = 0 : i64} : i64
  %hf = cast %h : f64
  %gf = cast %g : f64
  %ff = cast %f : f64
  %if = cast %i : f64
  %lf = cast %l : f64
  %s1 = add %hf, %gf : f64
  %s2 = mul %s1, %ff : f64
  %s3 = sub %s2, %if : f64
  %s4 = add %s3, %lf : f64
  %tf = cast %t : f64
  %s5 = sub %s4, %tf : f64
  %pf = cast %p : f64
  %s6 = mul %s5, %pf : f64
  %qf = cast %q : f64
  %s7 = add %s6, %qf : f64
  %s8 = select %b, %s7, %d : f64
  %all = splat %s8 : tile<3xf64>
  store %c, %all, %o
  return
}
)";
  Array c(Element::f64, {3});
  for (bool flag : {false, true})
    check_against_simulator(
        text,
        {ir::make_constant(Element::boolean, std::int64_t{flag}), ir::make_constant(Element::i8, std::int64_t{-77}),
         ir::make_constant(Element::i32, std::int64_t{-5}), ir::make_constant(Element::i64, std::int64_t{1} << 40),
         ir::make_constant(Element::e4m3, 0.3), ir::make_constant(Element::e5m2, -7.7),
         ir::make_constant(Element::f16, 0.3), ir::make_constant(Element::bf16, -7.7),
         ir::make_constant(Element::f32, 0.1), ir::make_constant(Element::f64, 1e-300), c});
}

TEST_CASE("a tile divided by one number has the bits of the division", "[host]") {
  ir::Module const module = parse(R"(
kernel @divide(%a: in tensor<?xf32>, %s: f32, %c: out tensor<?xf32>) {
  %n = extent %c {axis = 0} : i64
  %t = constant {value = 256 : i64} : i64
  %g = ceil_div %n, %t : i64
  grid %g
  %i = block_index {axis = 0} : i64
  %o = mul %i, %t : i64
  %x = load %a, %o : tile<256xf32>
  %d = splat %s : tile<256xf32>
  %q = div %x, %d : tile<256xf32>
  store %c, %q, %o
  return
}
)");
  // Blocks of numbers of one kind, so that each takes one way; then all kinds mixed.
  std::int64_t const n = 256 * 24;
  std::mt19937 engine(5);
  auto const with_exponent = [&](int low, int high) {
    std::uint32_t const exponent = static_cast<std::uint32_t>(low) + engine() % static_cast<std::uint32_t>(high - low);
    return exponent << 23 | (engine() & 0x807FFFFFU);
  };
  Array a(Element::f32, {n}), c(Element::f32, {n});
  for (std::int64_t i = 0; i < n; ++i) {
    std::int64_t const block = i / 256;
    std::uint32_t bits = 0;
    if (block < 8) {
      bits = with_exponent(127 - 100, 127 + 100);
    } else if (block < 12) {
      bits = with_exponent(126, 128) | (block % 2 == 0 ? 0U : 0x007FFF00U);  // mantissas with nearly all bits set
    } else if (block < 14) {
      bits = i % 3 == 0 ? 0U : with_exponent(120, 127);
    } else if (block < 16) {
      bits = i % 3 == 0 ? 0x80000000U : with_exponent(0, 40);
    } else {
      bits = engine();
    }
    a.set(i, ir::Constant{Element::f32, bits});
  }
  std::vector<std::uint32_t> divisors = {0x3F800000U, 0x3F7FFFFFU, 0x3F800001U, 0x3FFFFFFFU, 0x40400000U, 0U,
                                         0x80000000U, 0x7F800000U, 0x7FC00000U, 0xC0400000U, 0x00000001U, 0x7F7FFFFFU,
                                         0x35800000U, 0x357FFFFFU, 0x49800000U, 0x497FFFFFU};
  for (int i = 0; i < 40; ++i) divisors.push_back(with_exponent(127 - 20, 127 + 20) & 0x7FFFFFFFU);
  for (char const* cpu : {"x86-64-v2", "x86-64-v3", ""}) {
    CompiledKernel const kernel = compile_for(module, {a, ir::Constant{Element::f32, 0}, c}, {cpu});
    for (std::uint32_t divisor : divisors) {
      run_compiled(kernel, {a, ir::Constant{Element::f32, divisor}, c});
      std::int64_t wrong = 0;
      for (std::int64_t i = 0; i < n; ++i) {
        float const x = std::bit_cast<float>(static_cast<std::uint32_t>(a.get(i).bits));
        float const want = x / std::bit_cast<float>(divisor);
        float const have = std::bit_cast<float>(static_cast<std::uint32_t>(c.get(i).bits));
        bool const same = std::bit_cast<std::uint32_t>(want) == std::bit_cast<std::uint32_t>(have);
        wrong += !same && !(std::isnan(want) && std::isnan(have)) ? 1 : 0;
      }
      INFO("cpu " << cpu << ", divisor " << std::bit_cast<float>(divisor));
      CHECK(wrong == 0);
    }
  }
}

}  // namespace
