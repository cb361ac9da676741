// Counters carried as remainder and quotient divide as they did before, at every trip count.
#include <fmt/format.h>

#include "ir/text/text.hpp"
#include "ir/core/walk.hpp"
#include "support/catch.hpp"
#include "support/host_tensor.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

struct Case {
  std::int64_t start, step, more, divisor;
};

/// Carries a counter through two loops and a branch; values around it are divided in the inner loop and after it.
std::string text_of(Case const& one) {
  std::string text =
      "tegula-ir 1\n\n"
      "kernel @k(%y: out tensor<?xi64>, %m: i64, %n: i64) {\n"
      "  %zero = constant {value = 0 : i64} : i64\n"
      "  %one = constant {value = 1 : i64} : i64\n";
  auto const constant = [&](std::string const& name, std::int64_t value) {
    text += fmt::format("  %{} = constant {{value = {} : i64}} : i64\n", name, value);
  };
  constant("start", one.start);
  constant("step", one.step);
  constant("more", one.more);
  constant("by", one.divisor);
  std::vector<std::int64_t> const around = {-8, -one.divisor, -2, -1, 0, 1, 2, one.divisor, 2 * one.divisor + 1};
  for (std::size_t i = 0; i < around.size(); ++i) constant(fmt::format("a{}", i), around[i]);
  constant("stored", static_cast<std::int64_t>(2 * around.size()));
  auto const divided = [&](std::string const& of, std::string const& at) {
    for (std::size_t i = 0; i < around.size(); ++i) {
      std::string const n = fmt::format("{}{}", of, i);
      text += fmt::format("    %s{} = add %{}, %a{} : i64\n", n, of, i);
      for (char const* op : {"rem", "div"}) {
        std::string const v = "%" + std::string(op) + n, p = "%" + std::string(op) + "_at" + n;
        text +=
            "    " + v + " = " + op + " %s" + n + ", %by : i64\n    " + v + "_tile = splat " + v + " : tile<1xi64>\n";
        std::string const place = fmt::to_string(2 * i + (op == std::string("div") ? 1 : 0));
        text += "    " + p + "_o = constant {value = " + place + " : i64} : i64\n    " + p + " = add %" + at + ", " +
                p + "_o : i64\n    store %y, " + v + "_tile, " + p + "\n";
      }
    }
  };
  text +=
      "  %end, %last = for %i = %zero to %m step %one carry (%u = %start, %p = %zero) : i64, i64 {\n"
      "    %odd = and %i, %one : i64\n"
      "    %some = compare %odd, %zero : bool\n"
      "    %v, %q = if %some : i64, i64 {\n"
      "      %r, %t = for %j = %zero to %n step %one carry (%use = %u, %at = %p) : i64, i64 {\n";
  divided("use", "at");
  text +=
      "        %next = add %use, %step : i64\n"
      "        %next_at = add %at, %stored : i64\n"
      "        yield %next, %next_at\n"
      "      }\n"
      "      yield %r, %t\n"
      "    } else {\n"
      "      %skipped = add %u, %more : i64\n"
      "      yield %skipped, %p\n"
      "    }\n"
      "    yield %v, %q\n"
      "  }\n";
  divided("end", "last");
  return text + "  return\n}\n";
}

std::vector<double> results(ir::Module const& module, std::int64_t outer, std::int64_t inner) {
  HostTensor y(Element::i64, {1024});
  for (std::int64_t i = 0; i < y.count(); ++i) y.set_number(i, 77);
  auto const number = [](std::int64_t value) { return sim::Argument(ir::make_constant(Element::i64, value)); };
  sim::Options options;
  options.grid = sim::Grid{1, 1, 1};
  CHECK(sim::run(module.kernel(), {y.view(), number(outer), number(inner)}, options).str() == "");
  std::vector<double> values;
  for (std::int64_t i = 0; i < y.count(); ++i) values.push_back(y(i));
  return values;
}

}  // namespace

TEST_CASE("counters carried as remainder and quotient divide as before", "[sim]") {
  for (std::int64_t const divisor : {3, 5, 6, 7})
    for (Case const& one : {Case{0, 1, 1, divisor}, Case{4, 2, 0, divisor}, Case{1, 9, 4, divisor}}) {
      auto parsed = ir::parse(text_of(one));
      INFO(parsed.diagnostics.str());
      REQUIRE(parsed.ok());
      ir::Module carried = parsed.module.clone();
      transform::run_pipeline(carried, "carry-remainders", CompileOptions());
      bool divides = false;
      ir::walk(carried.kernel(), [&](ir::Op& op) { divides = divides || op.is<ir::RemOp>() || op.is<ir::DivOp>(); });
      CHECK_FALSE(divides);
      for (std::int64_t const outer : {0, 1, 2, 5})
        for (std::int64_t const inner : {0, 1, 4, 9}) {
          INFO(one.start << " " << one.step << " " << one.more << " " << divisor << " " << outer << " " << inner);
          CHECK(results(parsed.module, outer, inner) == results(carried, outer, inner));
        }
    }
}
