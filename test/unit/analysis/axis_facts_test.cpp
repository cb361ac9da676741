#include "analysis/axis_facts.hpp"

#include "support/module.hpp"

using namespace tegula;

namespace {

/// Returns the facts of a kernel's (or function's) values as text.
std::string facts_of(std::string const& text, std::string_view function = "k") {
  ir::Module const module = test::module_of(text);
  return analysis::AxisFacts(module).str(*module.find(function));
}

bool has_line(std::string const& text, std::string const& line) {
  return ("\n" + text).find("\n" + line + "\n") != std::string::npos;
}

}  // namespace

TEST_CASE("axis facts: offsets of a block are multiples of the tile, coordinates run") {
  std::string const facts = facts_of(
      "kernel @k(%t: in tensor<?x?xf32> {multiple_of = 16}) {\n"
      "  %b = block_index : i64\n"
      "  %c176 = constant {value = 176 : i64} : i64\n"
      "  %base = mul %b, %c176 : i64\n"
      "  %i = iota {axis = 1} : tile<4x176xi64>\n"
      "  %s = splat %base : tile<4x176xi64>\n"
      "  %col = add %i, %s : tile<4x176xi64>\n"
      "  %n = extent %t {axis = 1} : i64\n"
      "  %e = splat %n : tile<4x176xi64>\n"
      "  %m = compare %col, %e {predicate = lt} : tile<4x176xbool>\n"
      "  %x = compare %col, %e {predicate = le} : tile<4x176xbool>\n"
      "  return\n}\n");
  CHECK(has_line(facts, "%base: contiguity [1], divisibility [176], constancy [1], from 0 to 377957121872"));
  CHECK(has_line(facts, "%i: contiguity [1, 176], divisibility [1, 0], constancy [4, 1], from 0 to 175"));
  CHECK_THAT(facts, test::ContainsSubstring("%col: contiguity [1, 176], divisibility [1, 176], constancy [4, 1]"));
  CHECK_THAT(facts, test::ContainsSubstring("%n: contiguity [1], divisibility [16], constancy [1]"));
  // A run of 16 columns lies on one side of a border that is a multiple of 16; with <= it need not.
  CHECK(has_line(facts, "%m: contiguity [1, 1], divisibility [1, 1], constancy [4, 16]"));
  CHECK(has_line(facts, "%x: contiguity [1, 1], divisibility [1, 1], constancy [4, 1]"));
}

TEST_CASE("axis facts: requirements give facts") {
  std::string const facts = facts_of(
      "kernel @k(%t: in tensor<?x?xf32>, %n: i64) {\n"
      "  %a = extent %t {axis = 1} : i64\n"
      "  %c = constant {value = 256 : i64} : i64\n"
      "  %c32 = constant {value = 32 : i64} : i64\n"
      "  %zero = constant {value = 0 : i64} : i64\n"
      "  %small = compare %a, %c {predicate = le} : bool\n"
      "  %r = rem %n, %c32 : i64\n"
      "  %whole = compare %r, %zero : bool\n"
      "  %positive = compare %zero, %n {predicate = le} : bool\n"
      "  %both = and %whole, %positive : bool\n"
      "  require %small {message = \"small\"}\n"
      "  require %both {message = \"whole\"}\n"
      "  %d = div %n, %c32 : i64\n"
      "  return\n}\n");
  CHECK(has_line(facts, "%a: contiguity [1], divisibility [1], constancy [1], from 0 to 256"));
  CHECK(has_line(facts, "%n: contiguity [1], divisibility [32], constancy [1], from 0 to 9223372036854775807"));
  CHECK(has_line(facts, "%r: contiguity [1], divisibility [0], constancy [1], from 0 to 0"));
}

TEST_CASE("axis facts: loops join the facts of carried values") {
  std::string const facts = facts_of(
      "kernel @k(%n: i64) {\n"
      "  %c24 = constant {value = 24 : i64} : i64\n"
      "  %c36 = constant {value = 36 : i64} : i64\n"
      "  %zero = constant {value = 0 : i64} : i64\n"
      "  %s, %f = for %i = %c24 to %n step %c36 carry (%a = %zero, %b = %c24) : i64, i64 {\n"
      "    %x = add %a, %c36 : i64\n"
      "    yield %x, %b\n"
      "  }\n"
      "  return\n}\n");
  CHECK_THAT(facts, test::ContainsSubstring("%i: contiguity [1], divisibility [12], constancy [1], from 24"));
  // the sum may wrap, and only powers of two survive that
  CHECK(has_line(facts, "%a: contiguity [1], divisibility [4], constancy [1]"));
  CHECK(has_line(facts, "%s: contiguity [1], divisibility [4], constancy [1]"));
  CHECK(has_line(facts, "%f: contiguity [1], divisibility [24], constancy [1], from 24 to 24"));
}

TEST_CASE("axis facts: parameters of functions are joined over the callers, through the call graph") {
  std::string const text =
      "function @inner(%i: i64) {\n  %x = neg %i : i64\n  return\n}\n"
      "function @outer(%j: i64) {\n  call %j {callee = @inner}\n  return\n}\n"
      "kernel @k() {\n"
      "  %b = block_index : i64\n"
      "  %c64 = constant {value = 64 : i64} : i64\n"
      "  %c96 = constant {value = 96 : i64} : i64\n"
      "  %x = mul %b, %c64 : i64\n"
      "  call %x {callee = @outer}\n"
      "  call %c96 {callee = @inner}\n"
      "  return\n}\n";
  CHECK_THAT(facts_of(text, "outer"),
             test::ContainsSubstring("%j: contiguity [1], divisibility [64], constancy [1], from 0 to 137438953408"));
  CHECK_THAT(facts_of(text, "inner"),
             test::ContainsSubstring("%i: contiguity [1], divisibility [32], constancy [1], from 0 to 137438953408"));
}

TEST_CASE("axis facts: two callers with divisibility 16 and 4 give 4 in the callee", "[F17]") {
  std::string const text =
      "function @f(%i: i64) {\n  return\n}\n"
      "kernel @a() {\n  %b = block_index : i64\n  %c = constant {value = 16 : i64} : i64\n  %x = mul %b, %c : i64\n  "
      "call %x {callee = @f}\n  return\n}\n"
      "kernel @k() {\n  %b = block_index : i64\n  %c = constant {value = 4 : i64} : i64\n  %x = mul %b, %c : i64\n  "
      "call %x {callee = @f}\n  return\n}\n";
  CHECK_THAT(facts_of(text, "f"),
             test::ContainsSubstring("%i: contiguity [1], divisibility [4], constancy [1], from 0 to 34359738352"));
}

TEST_CASE("axis facts: a grid's extent and the number of multiprocessors are at least 1") {
  std::string const facts =
      facts_of("kernel @k() {\n  %g = grid_extent {axis = 1} : i64\n  %p = multiprocessors : i64\n  return\n}\n");
  CHECK(has_line(facts, "%g: contiguity [1], divisibility [1], constancy [1], from 1 to 140737488355328"));
  CHECK(has_line(facts, "%p: contiguity [1], divisibility [1], constancy [1], from 1 to 140737488355328"));
}

TEST_CASE("axis facts: blocks from the last to the first begin at 0 or later") {
  std::string const facts = facts_of(
      "kernel @k(%t: in tensor<?x?xf32>) {\n"
      "  %c8 = constant {value = 8 : i64} : i64\n"
      "  %one = constant {value = 1 : i64} : i64\n"
      "  %less = constant {value = -1 : i64} : i64\n"
      "  %rows = extent %t : i64\n"
      "  %columns = extent %t {axis = 1} : i64\n"
      "  %n = ceil_div %rows, %c8 : i64\n"
      "  %m = ceil_div %columns, %c8 : i64\n"
      "  grid %n, %m\n"
      "  %b = block_index : i64\n"
      "  %d = block_index {axis = 1} : i64\n"
      "  %last = sub %n, %one : i64\n"
      "  %again = add %n, %less : i64\n"
      "  %reverse = sub %last, %b : i64\n"
      "  %other = sub %again, %b : i64\n"
      "  %crossed = sub %last, %d : i64\n"
      "  for %i = %one to %n step %one {\n"
      "    %inner = block_index : i64\n"
      "    %nested = sub %last, %inner : i64\n"
      "    yield\n  }\n"
      "  return\n}\n");
  INFO(facts);
  CHECK(has_line(facts, "%reverse: contiguity [1], divisibility [1], constancy [1], from 0 to 17592186044415"));
  CHECK(has_line(facts, "%other: contiguity [1], divisibility [1], constancy [1], from 0 to 17592186044415"));
  CHECK(has_line(facts, "%nested: contiguity [1], divisibility [1], constancy [1], from 0 to 17592186044415"));
  CHECK_FALSE(has_line(facts, "%crossed: contiguity [1], divisibility [1], constancy [1], from 0 to 17592186044415"));
}

TEST_CASE("axis facts: a map of exchanged axes bounds extents, and a value cut off below the last one stays below it") {
  std::string const facts = facts_of(
      "kernel @k(%t: in tensor<?x?x?xbf16>, %i: i64) {\n"
      "  %u = permute %t {permutation = [1, 0, 2]} : tensor<?x?x?xbf16>\n"
      "  %map = tensor_map %u {box = [1, 8, 64]} : tensor_map<1x8x64xbf16>\n"
      "  %rows = extent %t : i64\n"
      "  %one = constant {value = 1 : i64} : i64\n"
      "  %less = constant {value = -1 : i64} : i64\n"
      "  %last = add %rows, %less : i64\n"
      "  %same = sub %rows, %one : i64\n"
      "  %zero = constant {value = 0 : i64} : i64\n"
      "  %some = max %i, %zero : i64\n"
      "  %cut = min %some, %same : i64\n"
      "  %rest = sub %last, %cut : i64\n"
      "  return\n}\n");
  INFO(facts);
  CHECK(has_line(facts, "%rows: contiguity [1], divisibility [1], constancy [1], from 0 to 2146435072"));
  CHECK(has_line(facts, "%rest: contiguity [1], divisibility [1], constancy [1], from 0 to 2146435072"));
}

TEST_CASE("axis facts: division and remainder of runs") {
  std::string const facts = facts_of(
      "kernel @k() {\n"
      "  %i = iota : tile<64xi32>\n"
      "  %c8 = constant {value = 8 : i32} : tile<64xi32>\n"
      "  %q = div %i, %c8 : tile<64xi32>\n"
      "  %r = rem %i, %c8 : tile<64xi32>\n"
      "  %c3 = constant {value = 3 : i32} : tile<64xi32>\n"
      "  %j = sub %i, %c3 : tile<64xi32>\n"
      "  %p = div %j, %c8 : tile<64xi32>\n"
      "  return\n}\n");
  CHECK(has_line(facts, "%q: contiguity [1], divisibility [1], constancy [8], from 0 to 7"));
  CHECK(has_line(facts, "%r: contiguity [8], divisibility [0], constancy [1], from 0 to 7"));
  CHECK(has_line(facts, "%j: contiguity [64], divisibility [3], constancy [1], from -3 to 60"));
  CHECK(has_line(facts, "%p: contiguity [1], divisibility [1], constancy [1]"));
}

TEST_CASE("axis facts: quotients and remainders by arguments keep sign and size") {
  std::string const facts = facts_of(
      "kernel @k(%t: in tensor<?x?xf32>, %u: in tensor<?x?xbf16>, %n: i64) {\n"
      "  %map = tensor_map %u {box = [8, 64]} : tensor_map<8x64xbf16>\n"
      "  %rows = extent %t : i64\n"
      "  %mapped = extent %u : i64\n"
      "  %c8 = constant {value = 8 : i64} : i64\n"
      "  %blocks = ceil_div %mapped, %c8 : i64\n"
      "  %b = block_index : i64\n"
      "  %ctas = multiprocessors : i64\n"
      "  %q = div %b, %ctas : i64\n"
      "  %up = ceil_div %b, %ctas : i64\n"
      "  %open = div %b, %n : i64\n"
      "  %r = rem %b, %n : i64\n"
      "  %s = rem %rows, %blocks : i64\n"
      "  %w = rem %n, %rows : i64\n"
      "  %one = constant {value = 1 : i64} : i64\n"
      "  %zero = constant {value = 0 : i64} : i64\n"
      "  %some = max %rows, %one : i64\n"
      "  %last = sub %some, %one : i64\n"
      "  %above = max %n, %zero : i64\n"
      "  %index = min %above, %last : i64\n"
      "  %rest = sub %last, %index : i64\n"
      "  return\n}\n");
  CHECK_THAT(facts,
             test::ContainsSubstring("%mapped: contiguity [1], divisibility [1], constancy [1], from 0 to 2146435072"));
  auto const range = [&](std::string const& name, std::string const& wanted) {
    INFO(facts);
    CHECK(has_line(facts, name + ": contiguity [1], divisibility [1], constancy [1]" + wanted));
  };
  range("%q", ", from 0 to 2147483647");
  range("%up", ", from 0 to 2147483647");
  range("%open", "");  // by a number below 0, or by 0
  range("%r", ", from 0 to 2147483647");
  range("%s", ", from 0 to 140737488355328");  // by 0 it stays
  range("%w", "");
  range("%rest", ", from 0 to 140737488355327");
}
