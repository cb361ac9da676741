#include <fmt/format.h>

#include "analysis/coordinate_sums.hpp"

#include "ir/core/walk.hpp"
#include "support/catch.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;
using analysis::ComparedSum;

namespace {

struct Comparison {
  ir::Module module;
  ir::Op* compare = nullptr;

  explicit Comparison(std::string const& ops)
      : module(module_of("tegula-ir 1\nkernel @k(%y: out tensor<?x?xbool>, %n: i64) {\n"
                         "  %zero = constant {value = 0 : i64} : i64\n  %four = constant {value = 4 : i64} : i64\n"
                         "  %c = iota {axis = 1} : tile<1x128xi64>\n  %s = splat %n : tile<1x128xi64>\n" +
                         ops + "  store %y, %m, %zero, %zero\n  return\n}\n")) {
    ir::walk(module.kernel(), [&](ir::Op& op) {
      if (op.is<ir::CompareOp>()) compare = &op;
    });
    REQUIRE(compare != nullptr);
  }
  [[nodiscard]] std::optional<ComparedSum> sum() const {
    analysis::AxisFacts const facts(module);
    return analysis::CoordinateSums({nullptr, [](ir::Value const&) { return true; }}, facts).compared(*compare);
  }
};

}  // namespace

TEST_CASE("coordinate sums: a comparison always holds where the maximum of its sum is below 0") {
  // c + n < 4 for all of 0 .. 127 where 127 + n - 4 < 0.
  Comparison const below(
      "  %at = add %c, %s : tile<1x128xi64>\n  %e = splat %four : tile<1x128xi64>\n"
      "  %m = compare %at, %e {predicate = lt} : tile<1x128xbool>\n");
  auto const sum = below.sum();
  REQUIRE(sum);
  CHECK(sum->min == -4);
  CHECK(sum->max == 123);
  REQUIRE(sum->terms.size() == 1);
  CHECK(sum->terms[0].first == below.module.kernel().body().argument(1));
  CHECK(sum->terms[0].second == 1);
}

TEST_CASE("coordinate sums: greater swaps the sides, and equal adds one") {
  // c >= n for all where n - 0 - 1 < 0.
  Comparison const from("  %m = compare %c, %s {predicate = ge} : tile<1x128xbool>\n");
  auto const sum = from.sum();
  REQUIRE(sum);
  CHECK(sum->min == -127);
  CHECK(sum->max == -1);
  CHECK(sum->terms[0].second == 1);
}

TEST_CASE("coordinate sums: factors multiply intervals and scalars, and other values have no sum") {
  Comparison const scaled(
      "  %k = constant {value = -2 : i64} : tile<1x128xi64>\n  %at = mul %c, %k : tile<1x128xi64>\n"
      "  %m = compare %at, %s {predicate = le} : tile<1x128xbool>\n");
  auto const sum = scaled.sum();
  REQUIRE(sum);
  CHECK(sum->min == -254);
  CHECK(sum->max == -1);
  CHECK(sum->terms[0].second == -1);
  Comparison const equal("  %m = compare %c, %s : tile<1x128xbool>\n");
  CHECK_FALSE(equal.sum());
  Comparison const quotient(
      "  %q = div %c, %s : tile<1x128xi64>\n  %m = compare %q, %s {predicate = lt} : tile<1x128xbool>\n");
  CHECK_FALSE(quotient.sum());
}

TEST_CASE("coordinate sums: numbers that do not fit, or too many of them, are not a sum") {
  std::string chain = "  %s0 = add %c, %s : tile<1x128xi64>\n";
  for (int i = 0; i < 64; ++i) chain += fmt::format("  %s{} = add %s{}, %s{} : tile<1x128xi64>\n", i + 1, i, i);
  CHECK_FALSE(Comparison(chain + "  %m = compare %s20, %c {predicate = lt} : tile<1x128xbool>\n").sum());  // may wrap
  CHECK_FALSE(Comparison(chain + "  %m = compare %s64, %s {predicate = lt} : tile<1x128xbool>\n").sum());
  auto const doubled = Comparison(chain + "  %m = compare %s8, %c {predicate = lt} : tile<1x128xbool>\n").sum();
  REQUIRE(doubled);
  REQUIRE(doubled->terms.size() == 1);
  CHECK(doubled->terms[0].second == 1 << 8);
  Comparison const far(
      "  %k = constant {value = -9223372036854775808 : i64} : tile<1x128xi64>\n  %at = sub %c, %k : tile<1x128xi64>\n"
      "  %m = compare %at, %s {predicate = le} : tile<1x128xbool>\n");
  CHECK_FALSE(far.sum());
}

TEST_CASE("coordinate sums: a large scalar alone on its side is clamped, one in a sum is checked") {
  auto const alone = Comparison("  %m = compare %c, %s {predicate = lt} : tile<1x128xbool>\n").sum();
  REQUIRE(alone);
  CHECK(alone->large.size() == 1);
  CHECK(alone->checked.empty());
  auto const in_sum = Comparison(
                          "  %at = add %c, %s : tile<1x128xi64>\n  %e = splat %four : tile<1x128xi64>\n"
                          "  %m = compare %at, %e {predicate = lt} : tile<1x128xbool>\n")
                          .sum();
  REQUIRE(in_sum);
  CHECK(in_sum->large.size() == 1);
  CHECK(in_sum->checked == in_sum->large);
  auto const known = Comparison(
                         "  %b = block_index : i64\n  %bs = splat %b : tile<1x128xi64>\n"
                         "  %at = add %c, %bs : tile<1x128xi64>\n  %m = compare %at, %c {predicate = lt} : "
                         "tile<1x128xbool>\n")
                         .sum();
  REQUIRE(known);
  CHECK(known->large.empty());
}

TEST_CASE("coordinate sums: a 32-bit sum counts where it does not wrap") {
  auto const sum = [](std::string const& scalar) {
    return Comparison("  %i = iota {axis = 1} : tile<1x128xi32>\n" + scalar +
                      "  %b = splat %x : tile<1x128xi32>\n  %at = add %i, %b : tile<1x128xi32>\n"
                      "  %end = constant {value = 5 : i32} : tile<1x128xi32>\n"
                      "  %m = compare %at, %end {predicate = lt} : tile<1x128xbool>\n")
        .sum();
  };
  CHECK_FALSE(sum("  %x = cast %n : i32\n"));
  CHECK(
      sum("  %k = constant {value = 100 : i64} : i64\n  %low = max %n, %zero : i64\n  %both = min %low, %k : i64\n"
          "  %x = cast %both : i32\n"));
  CHECK_FALSE(
      sum("  %k = constant {value = 2147483640 : i64} : i64\n  %low = max %n, %zero : i64\n"
          "  %both = min %low, %k : i64\n  %x = cast %both : i32\n"));
}
