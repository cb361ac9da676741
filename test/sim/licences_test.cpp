// Tests the changes that arithmetic may make, and no others. Softmaxes over blocks run through the passes, warp by
// warp, against the same text as tiles. Their scores are NaN, infinite, hidden, or grow slowly.
#include <fmt/format.h>

#include <cmath>
#include <functional>

#include "compiler/compile.hpp"
#include "sim/block/simulate.hpp"
#include "kernels/gemm_kernel.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

constexpr std::int64_t rows = 64, columns = 256, width = 64;
constexpr double infinity = INFINITY;

/// Describes how a kernel differs from the plain softmax over blocks of 64 columns.
struct Softmax {
  bool scaled = false;   ///< scores are multiplied by a scalar
  bool hides = false;    ///< weights of scores of -inf are 0 by a mask
  bool stores = false;   ///< the sum of the loop is stored, not the quotient
  bool factors = false;  ///< factors are summed up, too
  Element element = Element::f32;
};

std::string text_of(Softmax const& softmax) {
  std::string text = R"(tegula-ir 1

kernel @softmax(%S: in tensor<?x?x$e> {unit_inner, aligned_16}, %V: in tensor<?x?xf16> {unit_inner, aligned_16}, %O: out tensor<?x?xf32>, %L: out tensor<?x?x$e>, %c: $e) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %block = constant {value = 64 : i64} : i64
  %extent = extent %S {axis = 1} : i64
  %n = ceil_div %extent, %block : i64
  grid %one
  %lowest = constant {value = -inf : $e} : tile<64x1x$e>
  %none = constant {value = 0 : $e} : tile<64x1x$e>
  %nothing = constant {value = 0 : f32} : tile<64x64xf32>
  %hidden = constant {value = -inf : $e} : tile<64x64x$e>
  %weightless = constant {value = 0 : $e} : tile<64x64x$e>
  %m, %l, %f, %o = for %i = %zero to %n step %one carry (%m0 = %lowest, %l0 = %none, %f0 = %none, %o0 = %nothing) {stages = 2} : tile<64x1x$e>, tile<64x1x$e>, tile<64x1x$e>, tile<64x64xf32> {
    %at = mul %i, %block : i64
    %x0 = load %S, %zero, %at {pad = -inf : $e} : tile<64x64x$e>
    %scale = splat %c : tile<64x64x$e>
    %scaled = mul %x0, %scale : tile<64x64x$e>
    %top = reduce $x {axis = 1, combine = max} : tile<64x1x$e>
    %m1 = max %m0, %top : tile<64x1x$e>
    %wide = broadcast %m1 : tile<64x64x$e>
    %under = sub $x, %wide : tile<64x64x$e>
    %power = exp2 %under : tile<64x64x$e>
    %seen = compare $x, %hidden {predicate = ne} : tile<64x64xbool>
    %p = $weights : tile<64x64x$e>
    %more = reduce %p {axis = 1} : tile<64x1x$e>
    %fall = sub %m0, %m1 : tile<64x1x$e>
    %a = exp2 %fall : tile<64x1x$e>
    %l_low = mul %l0, %a : tile<64x1x$e>
    %l1 = add %l_low, %more : tile<64x1x$e>
    %f1 = add %f0, $factor : tile<64x1x$e>
    %w = cast %p : tile<64x64xf16>
    %v = load %V, %at, %zero : tile<64x64xf16>
    %a32 = cast %a : tile<64x1xf32>
    %a_wide = broadcast %a32 : tile<64x64xf32>
    %o_low = mul %o0, %a_wide : tile<64x64xf32>
    %o1 = dot %w, %v, %o_low : tile<64x64xf32>
    yield %m1, %l1, %f1, %o1
  }
  %l32 = cast %l : tile<64x1xf32>
  %l_wide = broadcast %l32 : tile<64x64xf32>
  %mean = div %o, %l_wide : tile<64x64xf32>
  store %O, $result, %zero, %zero
  store %L, $sums, %zero, %zero
  return
}
)";
  auto const put = [&](std::string const& name, std::string const& value) {
    for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += value.size())
      text.replace(at, name.size(), value);
  };
  put("$x", softmax.scaled ? "%scaled" : "%x0");
  put("$weights", softmax.hides ? "select %seen, %power, %weightless" : "exp2 %under");
  put("$factor", softmax.factors ? "%a" : "%none");
  put("$result", softmax.stores ? "%o" : "%mean");
  put("$sums", softmax.stores ? "%l" : "%f");
  put("$e", std::string(name(softmax.element)));
  return text;
}

struct Run {
  HostTensor scores, values, result, sums;
  double scale = 1;
  explicit Run(Softmax const& softmax)
      : scores(softmax.element, {rows, columns}),
        values(Element::f16, {columns, width}),
        result(Element::f32, {rows, width}),
        sums(softmax.element, {rows, 1}) {}
  sim::Arguments views(Element element) {
    return {scores.view(), values.view(), result.view(), sums.view(), ir::make_constant(element, scale)};
  }
};

bool close(double found, double expected) {
  if (std::isnan(expected) || std::isinf(expected)) return std::isnan(expected) ? std::isnan(found) : found == expected;
  return std::fabs(found - expected) <= 2e-3 + std::fabs(expected) * 2e-3;
}

using Fill = std::function<double(std::int64_t row, std::int64_t column)>;
using Free = std::function<bool(std::int64_t row)>;  ///< rows whose NaNs may become numbers

/// Runs a softmax as tiles and after the pipeline, and compares.
void check(Softmax const& softmax, bool exact, Fill const& scores, Free const& free_row = {}, double scale = 1,
           Fill const& values = {}) {
  std::string const text = text_of(softmax);
  ir::Module const module = module_of(text);
  CompileOptions options = gemm_options();
  options.facts.clear();
  options.exact = exact;
  ir::Module const lowered = compiler::lower(module, options);

  Run expected(softmax);
  expected.scale = scale;
  std::mt19937_64 random(3);
  expected.values.fill(random);
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < columns; ++j) expected.scores.set_number(i * columns + j, scores(i, j));
  if (values)
    for (std::int64_t i = 0; i < columns * width; ++i)
      expected.values.set_number(i, expected.values.number(i) + values(i / width, i % width));
  Run found = expected;
  REQUIRE(sim::run(module.kernel(), expected.views(softmax.element)).clean());
  block::Simulation simulation(lowered.kernel(), found.views(softmax.element), {});
  auto const report = simulation.run(sim::machine::parse_schedule("seed:1"));
  INFO(text << "exact " << exact << ", scale " << scale << "\n" << report.str());
  CHECK(report.clean());
  int wrong = 0;
  std::string first;
  auto const compare = [&](std::int64_t row, double is, double should) {
    if (close(is, should) || (std::isnan(should) && free_row && free_row(row))) return;
    if (wrong++ == 0) first = fmt::format("row {}: {} for {}", row, is, should);
  };
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t j = 0; j < width; ++j) compare(row, found.result(row, j), expected.result(row, j));
    compare(row, found.sums(row, std::int64_t{0}), expected.sums(row, std::int64_t{0}));
  }
  INFO(first);
  CHECK(wrong == 0);
}

/// Numbers in -2 .. 2, the same for the same place.
double plain(std::int64_t row, std::int64_t column) {
  return static_cast<double>((row * 37 + column * 101 + row * column * 7) % 401) / 100 - 2;
}
/// Tells whether a place is hidden: the first block from rows 8 on, the first two from rows 16 on, and all from row 63.
bool is_hidden(std::int64_t row, std::int64_t column) {
  return column < (row == 63 ? columns : row >= 16 ? 128 : row >= 8 ? 64 : 0);
}
double partly_hidden(std::int64_t row, std::int64_t column) {
  return is_hidden(row, column) ? -infinity : plain(row, column);
}
/// Does the same, with a NaN, both infinities and a whole block of NaN in rows of their own.
double strange(std::int64_t row, std::int64_t column) {
  if (row % 8 == 1 && column == row * 3 + 1) return std::nan("");
  if (row % 8 == 2 && column == row * 3 + 2) return infinity;
  if (row % 8 == 3 && column == row * 3 + 3) return -infinity;
  if (row % 8 == 4 && column / 64 == row / 8 % 4) return std::nan("");
  if (row % 8 == 5 && column / 64 == row / 8 % 4) return infinity;
  return partly_hidden(row, column);
}

}  // namespace

TEST_CASE("exact arithmetic keeps the NaN of rows that are masked at first", "[sim][block]") {
  for (bool const hides : {false, true})
    for (bool const stores : {false, true})
      check({.hides = hides, .stores = stores, .factors = true}, true, partly_hidden);
  check({.scaled = true, .hides = true}, true, partly_hidden, {}, 0.75);
  check({.scaled = true, .hides = true}, true, partly_hidden, {}, -0.75);
}

TEST_CASE("exact arithmetic keeps NaN and infinities among scores and values", "[sim][block]") {
  auto const one_infinite = [](std::int64_t row, std::int64_t column) {
    return column == 5 && row % 32 == 7 ? infinity : column == 6 && row == 200 ? std::nan("") : 0;
  };
  for (bool const hides : {false, true})
    for (bool const scaled : {false, true}) {
      check({.scaled = scaled, .hides = hides, .stores = true, .factors = true}, true, strange);
      check({.scaled = scaled, .hides = hides, .stores = true}, true, plain, {}, 1, one_infinite);
    }
}

TEST_CASE("free arithmetic is finite where the text is, and keeps the NaN of unmasked scores", "[sim][block]") {
  // Only a row that sees nothing in a block before it has seen something may come out as a number.
  auto const hidden_row = [](std::int64_t row) { return row >= 8; };
  auto const hidden_before_it_is_strange = [](std::int64_t row) {
    auto const marked = [&](std::int64_t column) { return !std::isfinite(strange(row, column)); };
    for (std::int64_t column = 0; column < columns; ++column)
      if (marked(column) && !(strange(row, column) == -infinity)) return false;  // NaN or inf is seen
    return row >= 8;
  };
  for (bool const hides : {false, true})
    for (bool const scaled : {false, true})
      for (bool const stores : {false, true}) {
        Softmax const softmax{.scaled = scaled, .hides = hides, .stores = stores};
        check(softmax, false, partly_hidden, hidden_row, 0.75);
        check(softmax, false, strange, hidden_before_it_is_strange, 0.75);
      }
  check({.scaled = true}, false, plain, {}, -0.75);
}

TEST_CASE("further factors of a softmax, and sums in f16, follow the text", "[sim][block]") {
  auto const grows_slowly = [](std::int64_t row, std::int64_t column) {
    return 1.6 * static_cast<double>(column / 64) + static_cast<double>(row) / 64;
  };
  check({}, false, grows_slowly);
  check({.factors = true}, false, grows_slowly);
  check({.element = Element::f16}, false, grows_slowly);
  check({.factors = true, .element = Element::f16}, false, grows_slowly);
}

TEST_CASE("a sum in f16 whose parts cancel stays in range", "[sim][block]") {
  ir::Module const module = module_of(R"(tegula-ir 1
kernel @sums(%S: in tensor<?x?xf16> {unit_inner, aligned_16}, %O: out tensor<?x?xf16>) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %block = constant {value = 64 : i64} : i64
  %extent = extent %S {axis = 1} : i64
  %n = ceil_div %extent, %block : i64
  grid %one
  %none = constant {value = 0 : f16} : tile<64x1xf16>
  %l = for %i = %zero to %n step %one carry (%l0 = %none) {stages = 2} : tile<64x1xf16> {
    %at = mul %i, %block : i64
    %x = load %S, %zero, %at : tile<64x64xf16>
    %more = reduce %x {axis = 1} : tile<64x1xf16>
    %l1 = add %l0, %more : tile<64x1xf16>
    yield %l1
  }
  store %O, %l, %zero, %zero
  return
}
)");
  CompileOptions options = gemm_options();
  options.facts.clear();
  HostTensor numbers(Element::f16, {64, 1024}), sums(Element::f16, {64, 1});
  for (std::int64_t i = 0; i < numbers.count(); ++i) numbers.set_number(i, i % 64 < 32 ? 1500 : -1500);
  ir::Module const lowered = compiler::lower(module, options);
  block::Simulation simulation(lowered.kernel(), {numbers.view(), sums.view()}, {});
  CHECK(simulation.run(sim::machine::parse_schedule("seed:1")).clean());
  for (std::int64_t row = 0; row < 64; ++row) CHECK(sums.number(row) == 0);
}
