// Tests products, control flow, launches, constants and reports, and that no op of the table but block ops is untested.
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

}  // namespace

TEST_CASE("dot adds the product to the accumulator", "[sim][F30]") { dots(); }
TEST_CASE("loops, branches and calls", "[sim][F30]") { control_flow(); }
TEST_CASE("grid, requirement, extents and block indices", "[sim][F30]") { launch(); }
TEST_CASE("a grid of multiprocessors strides over the tiles", "[sim][F30]") { staying_grid(); }
TEST_CASE("constants of every element", "[sim][F30]") { constants(); }
TEST_CASE("tables give their bytes as elements", "[sim]") { tables(); }
TEST_CASE("a repeat runs until its condition fails", "[sim][F30]") { repetition(); }
TEST_CASE("a failed assert is reported with its block", "[sim][F30][F38]") { messages(); }
TEST_CASE("a log holds the records of each block", "[sim][P1]") { logs(); }

TEST_CASE("every op of the table is tested", "[sim][F30]") {
  for (auto const& checks : {test::elementwise_checks(), test::shape_checks(), test::memory_checks()})
    for (auto const check : checks) check();
  for (auto const check : {dots, control_flow, launch, staying_grid, constants, tables, repetition, messages, logs})
    check();
  for (int kind = 0; kind < ir::op_kind_count; ++kind) {
    if (ir::op_info(static_cast<ir::OpKind>(kind)).is_block_op()) continue;  // block_ops_test.cpp
    INFO(ir::op_info(static_cast<ir::OpKind>(kind)).mnemonic);
    CHECK(test::exercised_ops().count(static_cast<ir::OpKind>(kind)) == 1);
  }
}
