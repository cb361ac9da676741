#include <fmt/format.h>

#include "analysis/affine.hpp"

#include "ir/text/text.hpp"
#include "support/catch.hpp"

using namespace tegula;
using analysis::Affine;
using analysis::Affines;
using analysis::Distance;
using analysis::Meeting;
using analysis::Range;

namespace {

struct Body {
  ir::Module module;
  std::unordered_map<std::string, ir::Value const*> values;

  explicit Body(std::string const& ops) {
    auto parsed = ir::parse(
        "tegula-ir 1\nkernel @k(%n: i64) warps = 4 {\n  %k0 = constant {value = 0 : i64} : i64\n  %k1 = constant "
        "{value = "
        "1 : i64} : i64\n  %k2 = constant {value = 2 : i64} : i64\n  %k3 = constant {value = 3 : i64} : i64\n  %k8 = "
        "constant {value = 8 : i64} : i64\n" +
        ops + "  return\n}\n");
    INFO(parsed.diagnostics.str());
    REQUIRE(parsed.ok());
    module = std::move(parsed.module);
    for (auto const& [value, name] : ir::value_names(module.kernel())) values[name] = value;
  }
  ir::Value const& operator[](std::string const& name) const { return *values.at(name); }
};

}  // namespace

TEST_CASE("affine: sums, differences and products with constants") {
  Body const body(
      "  %a = mul %n, %k8 : i64\n  %b = add %a, %k3 : i64\n  %c = sub %b, %n : i64\n  %d = sub %b, %a : i64\n");
  Affines affines;
  CHECK(affines.of(body["%c"]) == Affine{3, {{&body["%n"], 7}}});
  CHECK(affines.of(body["%d"]) == Affine{3, {}});
}

TEST_CASE("affine: a loop's index is its lower bound and steps") {
  Body const body(
      "  %w = mul %n, %k8 : i64\n  for %i = %k3 to %n step %w {\n    %x = add %i, %k1 : i64\n    yield\n  }\n"
      "  for %j = %k1 to %k8 step %k3 {\n    yield\n  }\n");
  Affines affines;
  CHECK(affines.of(body["%x"]) == Affine{4, {{&body["%i"], 8}}});
  CHECK(Affines::turns(body["%i"]));
  CHECK(affines.of(body["%j"]) == Affine{1, {{&body["%j"], 3}}});
  CHECK(affines.range_of_term(body["%j"]) == Range{0, 2});
}

TEST_CASE("affine: ranges of ring counters, kept as stage or as number") {
  Body const body(
      "  %last = for %i = %k0 to %n step %k1 carry (%stage = %k0) : i64 {\n    %up = add %stage, %k1 : i64\n    %turn "
      "= "
      "compare %up, %k3 : bool\n    %next = select %turn, %k0, %up : i64\n    %first = compare %stage, %k0 : bool\n    "
      "%back = sub %stage, %k1 : i64\n    %before = select %first, %k2, %back : i64\n    %masked = and %i, %k3 : i64\n "
      "   "
      "%rest = rem %i, %k3 : i64\n    yield %next\n  }\n");
  Affines affines;
  CHECK(affines.range(body["%stage"]) == Range{0, 2});
  CHECK(affines.range(body["%before"]) == Range{0, 2});
  CHECK(affines.range(body["%masked"]) == Range{0, 3});
  CHECK(affines.range(body["%rest"]) == Range{0, 2});
  CHECK(affines.range(body["%last"]) == Range{0, 2});
}

TEST_CASE("affine: a counter that grows without a limit has no upper bound") {
  Body const body(
      "  %r = for %i = %k0 to %n step %k1 carry (%c = %k0) : i64 {\n    %up = add %c, %k1 : i64\n    yield %up\n  }\n");
  Affines affines;
  CHECK(affines.range(body["%c"]) == Range{0, Range::far});
}

TEST_CASE("affine: a remainder that never wraps is the number itself") {
  Body const body(
      "  for %i = %k0 to %k3 step %k1 {\n    %s = rem %i, %k3 : i64\n    %t = rem %i, %k2 : i64\n    yield\n  }\n");
  Affines affines;
  CHECK(affines.of(body["%s"]) == Affine{0, {{&body["%i"], 1}}});
  CHECK(affines.of(body["%t"]) == Affine{0, {{&body["%t"], 1}}});
}

TEST_CASE("affine: remainders, masks and selects that wrap differ from a plain sum by whole multiples") {
  Body const body(
      "  %up = add %n, %k1 : i64\n  %mask = and %up, %k3 : i64\n  %odd = and %up, %k2 : i64\n  %rest = rem %up, %k3 : "
      "i64\n  %ge = compare %up, %k3 {predicate = ge} : bool\n  %less = sub %up, %k3 : i64\n  %wrapped = select %ge, "
      "%less, %up : i64\n  %unknown = select %ge, %k0, %up : i64\n  %r = for %i = %k0 to %n step %k1 carry (%stage = "
      "%k0) "
      ": i64 {\n    %next = add %stage, %k1 : i64\n    %end = compare %next, %k3 {predicate = ge} : bool\n    %after "
      "= select %end, %k0, %next : i64\n    %start = compare %stage, %k0 : bool\n    %back = sub %stage, %k1 : i64\n "
      "   %before = select %start, %k2, %back : i64\n    yield %after\n  }\n");
  Affines affines;
  auto const is = [&](char const* name, std::int64_t constant, char const* term, std::int64_t modulus) {
    INFO(name);
    auto const found = affines.congruence(body[name]);
    REQUIRE(found.has_value());
    CHECK(found->sum == Affine{constant, {{&body[term], 1}}});
    CHECK(found->modulus == modulus);
  };
  is("%mask", 1, "%n", 4);
  is("%rest", 1, "%n", 3);
  is("%wrapped", 1, "%n", 3);
  is("%after", 1, "%stage", 3);
  is("%before", -1, "%stage", 3);
  for (char const* name : {"%odd", "%unknown", "%up", "%n"}) {
    INFO(name);
    CHECK_FALSE(affines.congruence(body[name]).has_value());
  }
}

TEST_CASE("affine: an i32 is a sum where it cannot overflow") {
  Body const body(
      "  %zero = constant {value = 0 : i32} : i32\n  %one = constant {value = 1 : i32} : i32\n  %three = constant "
      "{value = 3 : i32} : i32\n  %r, %s = for %i = %k0 to %n step %k1 carry (%stage = %zero, %count = %zero) : i32, "
      "i32 {\n    "
      "%next = add %stage, %one : i32\n    %end = compare %next, %three {predicate = ge} : bool\n    %after = select "
      "%end, %zero, %next : i32\n    %more = add %count, %one : i32\n    %bounded = cast %next : i64\n    %unbounded "
      "= cast %more : i64\n    yield %after, %more\n  }\n");
  Affines affines;
  auto const bounded = affines.congruence(body["%bounded"]);
  REQUIRE(bounded.has_value());
  CHECK(bounded->sum == Affine{1, {{&body["%stage"], 1}}});
  CHECK(bounded->modulus == 0);
  CHECK_FALSE(affines.congruence(body["%unbounded"]).has_value());
}

TEST_CASE("affine: a counter stays a step below its upper bound where the steps end there") {
  Body const body(
      "  %many = mul %n, %k8 : i64\n  for %i = %k0 to %many step %k8 {\n    yield\n  }\n  for %j = %k1 to %many step "
      "%k8 {\n    yield\n  }\n  for %u = %k0 to %k8 step %n {\n    yield\n  }\n");
  Affines affines;
  auto const whole = affines.bound_of_term(body["%i"]), part = affines.bound_of_term(body["%j"]);
  REQUIRE((whole.has_value() && part.has_value()));
  CHECK(whole->modulus == 8);
  CHECK(whole->sum == Affine{-8, {{&body["%n"], 8}}});
  CHECK(part->modulus == 8);
  CHECK(part->sum == Affine{-2, {{&body["%n"], 8}}});
  CHECK_FALSE(affines.bound_of_term(body["%n"]).has_value());
}

TEST_CASE("affine: boxes are apart by their ranges or by their stride") {
  CHECK(Distance{4, {0, 3}, 0}.apart(4, 4));
  CHECK_FALSE(Distance{3, {0, 3}, 0}.apart(4, 4));
  CHECK(Distance{-4, {-3, 0}, 0}.apart(4, 4));
  CHECK(Distance{2, {0, 0}, 8}.apart(2, 2));
  CHECK(Distance{0, {1, 7}, 8}.apart(1, 1));
  CHECK_FALSE(Distance{0, {1, 8}, 8}.apart(1, 1));
  CHECK_FALSE(Distance{2, {0, 0}, 8}.apart(3, 2));
  CHECK_FALSE(Distance{6, {0, 0}, 8}.apart(2, 3));
}

TEST_CASE("affine: boxes whole strides apart meet where they begin at one place") {
  CHECK(Distance{0, {0, 0}, 0}.meeting(4, 4) == Meeting::aligned);
  CHECK(Distance{0, {0, 1}, 0}.meeting(4, 4) == Meeting::anywhere);
  CHECK(Distance{1, {0, 0}, 0}.meeting(4, 4) == Meeting::anywhere);
  CHECK(Distance{0, {0, 1}, 0}.meeting(1, 4) == Meeting::aligned);
  CHECK(Distance{0, {0, 0}, 8}.meeting(8, 8) == Meeting::aligned);
  CHECK(Distance{16, {0, 0}, 8}.meeting(8, 8) == Meeting::aligned);
  CHECK(Distance{0, {0, 0}, 8}.meeting(9, 8) == Meeting::anywhere);
  CHECK(Distance{0, {0, 0}, 8}.meeting(8, 9) == Meeting::anywhere);
  CHECK(Distance{0, {0, 1}, 8}.meeting(8, 8) == Meeting::anywhere);
  CHECK(Distance{4, {0, 0}, 8}.meeting(4, 4) == Meeting::never);
}

TEST_CASE("affine: numbers that do not fit stay opaque values") {
  Body const body(
      "  %most = constant {value = 9223372036854775807 : i64} : i64\n"
      "  %least = constant {value = -9223372036854775808 : i64} : i64\n"
      "  %a = add %n, %most : i64\n  %b = add %a, %most : i64\n  %c = mul %n, %least : i64\n"
      "  %d = mul %c, %least : i64\n  %e = mul %c, %c : i64\n  %f = and %n, %most : i64\n"
      "  %g = sub %least, %most : i64\n  %h = rem %n, %least : i64\n  %s = div %least, %most : i64\n");
  Affines affines;
  for (char const* name : {"%a", "%b", "%c", "%d", "%e", "%f", "%g", "%h"}) {
    INFO(name);
    Affine const& sum = affines.of(body[name]);
    CHECK(sum.fits);
    CHECK(std::abs(sum.constant) <= 8);
    for (auto const& [value, factor] : sum.terms) CHECK(std::abs(factor) <= 8);
    (void)affines.range(body[name]);
    (void)affines.range_of_term(body[name]);
  }
  CHECK(affines.range(body["%g"]) == Range{-Range::far, -Range::far});
  CHECK_FALSE(affines.range(body["%s"]).bounded());
}

TEST_CASE("affine: a value used twice is analysed once") {
  std::string ops = "  %a0 = rem %n, %k8 : i64\n";
  for (int i = 0; i < 36; ++i) {
    std::string const before = fmt::format("%a{}", i), next = fmt::to_string(i + 1);
    ops += "  %s" + next + " = max " + before + ", " + before + " : i64\n  %t" + next + " = compare " + before +
           ", %k3 {predicate = lt} : bool\n  %a" + next + " = select %t" + next + ", %s" + next + ", " + before +
           " : i64\n";
  }
  // Each carried value follows from all before it.
  ops += "  %r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7 = for %i = %k0 to %n step %k1 carry (";
  for (int i = 0; i < 8; ++i) ops += fmt::format("{}{} = %k0", i == 0 ? "%c" : ", %c", i);
  ops += ") : i64, i64, i64, i64, i64, i64, i64, i64 {\n    %d0 = add %c0, %k1 : i64\n";
  for (int i = 1; i < 8; ++i) ops += fmt::format("    %d{} = add %c{}, %c{} : i64\n", i, i, i - 1);
  ops += "    yield %d0, %d1, %d2, %d3, %d4, %d5, %d6, %d7\n  }\n";
  Body const body(ops);
  Affines affines;
  CHECK(affines.range(body["%a36"]) == Range{-7, 7});
  CHECK(affines.range(body["%a9"]) == Range{-7, 7});
  CHECK(affines.range(body["%r7"]) == Range{0, Range::far});
}
