#include "analysis/coordinate_sums.hpp"

#include "ir/walk.hpp"
#include "support/catch.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;
using analysis::CoordinateSum;

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
  [[nodiscard]] std::optional<CoordinateSum> sum() const {
    return analysis::compared_sum(*compare, {nullptr, [](ir::Value const&) { return true; }});
  }
};

}  // namespace

TEST_CASE("coordinate sums: a comparison holds everywhere where its sum's greatest is below 0") {
  // c + n < 4 for all of 0 .. 127 where 127 + n - 4 < 0.
  Comparison const below(
      "  %at = add %c, %s : tile<1x128xi64>\n  %e = splat %four : tile<1x128xi64>\n"
      "  %m = compare %at, %e {predicate = lt} : tile<1x128xbool>\n");
  auto const sum = below.sum();
  REQUIRE(sum);
  CHECK(sum->least == -4);
  CHECK(sum->most == 123);
  REQUIRE(sum->terms.size() == 1);
  CHECK(sum->terms[0].first == below.module.kernel().body().argument(1));
  CHECK(sum->terms[0].second == 1);
}

TEST_CASE("coordinate sums: greater turns the sides, equal counts as one more") {
  // c >= n for all where n - 0 - 1 < 0.
  Comparison const from("  %m = compare %c, %s {predicate = ge} : tile<1x128xbool>\n");
  auto const sum = from.sum();
  REQUIRE(sum);
  CHECK(sum->least == -127);
  CHECK(sum->most == -1);
  CHECK(sum->terms[0].second == 1);
}

TEST_CASE("coordinate sums: factors multiply intervals and scalars, and what is no sum has none") {
  Comparison const scaled(
      "  %k = constant {value = -2 : i64} : tile<1x128xi64>\n  %at = mul %c, %k : tile<1x128xi64>\n"
      "  %m = compare %at, %s {predicate = le} : tile<1x128xbool>\n");
  auto const sum = scaled.sum();
  REQUIRE(sum);
  CHECK(sum->least == -254);
  CHECK(sum->most == -1);
  CHECK(sum->terms[0].second == -1);
  Comparison const equal("  %m = compare %c, %s : tile<1x128xbool>\n");
  CHECK_FALSE(equal.sum());
  Comparison const quotient(
      "  %q = div %c, %s : tile<1x128xi64>\n  %m = compare %q, %s {predicate = lt} : tile<1x128xbool>\n");
  CHECK_FALSE(quotient.sum());
}
