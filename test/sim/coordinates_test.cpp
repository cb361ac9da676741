// Tests offsets that lie before a tensor, or beyond the 32 bits of a coordinate. The passes keep the meaning of tiles,
// and the simulator reports copies that do not.
#include <limits>

#include "compiler/compile.hpp"
#include "sim/block/simulate.hpp"
#include "sim/interpreter.hpp"
#include "kernels/gemm_kernel.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;
namespace block = sim::block;

namespace {

/// Computes C = A * B of tiles of 128 x 64, at rows that the launch gives.
constexpr char const* product = R"(
kernel @k(%A: in tensor<?x?xf16>, %B: in tensor<?x?xf16>, %C: out tensor<?x?xf16>, %from: i64, %to: i64) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %w = constant {value = 64 : i64} : i64
  %depth = extent %A {axis = 1} : i64
  %n = ceil_div %depth, %w : i64
  grid %one
  %none = constant {value = 0 : f32} : tile<128x64xf32>
  %acc = for %i = %zero to %n step %one carry (%c = %none) {stages = 2} : tile<128x64xf32> {
    %at = mul %i, %w : i64
    %a = load %A, %from, %at : tile<128x64xf16>
    %b = load %B, %at, %zero : tile<64x64xf16>
    %d = dot %a, %b, %c : tile<128x64xf32>
    yield %d
  }
  %h = cast %acc : tile<128x64xf16>
  store %C, %h, $TO, %zero
  return
}
)";

ir::Module product_to(std::string const& row, std::string const& constant = "") {
  std::string text = product;
  text.replace(text.find("$TO"), 3, row);
  if (!constant.empty()) text.insert(text.find("  %w ="), constant + "\n");
  return module_of(text);
}

struct Data {
  HostTensor a{Element::f16, {200, 192}}, b{Element::f16, {192, 64}}, c{Element::f16, {100, 64}};
  Data() {
    for (std::int64_t i = 0; i < a.count(); ++i) a.set_number(i, static_cast<double>(i * 7 % 5) - 2);
    for (std::int64_t i = 0; i < b.count(); ++i) b.set_number(i, static_cast<double>(i * 3 % 7) - 3);
    for (std::int64_t i = 0; i < c.count(); ++i) c.set_number(i, 77);
  }
  sim::Arguments arguments(std::int64_t from, std::int64_t to) {
    return {a.view(), b.view(), c.view(), ir::make_constant(Element::i64, from), ir::make_constant(Element::i64, to)};
  }
  [[nodiscard]] std::vector<double> result() const {
    std::vector<double> all;
    for (std::int64_t i = 0; i < c.count(); ++i) all.push_back(c.number(i));
    return all;
  }
};

CompileOptions options() {
  CompileOptions result = gemm_options();
  result.facts.assign(5, {true, true});
  return result;
}

/// Compares the kernel after the passes with its tiles.
void check_equal(ir::Module const& module, std::int64_t from, std::int64_t to) {
  INFO("from row " << from << " to row " << to);
  Data expected, found;
  sim::Result const tiles = sim::run(module.kernel(), expected.arguments(from, to));
  INFO(tiles.str());
  REQUIRE(tiles.clean());
  ir::Module const lowered = compiler::lower(module, options());
  block::Simulation simulation(lowered.kernel(), found.arguments(from, to), {});
  auto const run = simulation.run(sim::machine::parse_schedule("seed:1"));
  INFO(run.str());
  CHECK(run.clean());
  CHECK(found.result() == expected.result());
}

}  // namespace

TEST_CASE("a result that may begin before its tensor is stored by pointers, other results by copies", "[sim]") {
  ir::Module const before = product_to("%back", "  %back = constant {value = -16 : i64} : i64");
  ir::Module const anywhere = product_to("%to");
  ir::Module const inside = product_to("%later", "  %later = constant {value = 16 : i64} : i64");
  CHECK(count(compiler::lower(before, options()), ir::OpKind::TmaStoreOp) == 0);
  CHECK(count(compiler::lower(anywhere, options()), ir::OpKind::TmaStoreOp) == 0);
  CHECK(count(compiler::lower(inside, options()), ir::OpKind::TmaStoreOp) > 0);
  for (std::int64_t const from : {-16, 0, 100}) {
    check_equal(before, from, 0);
    check_equal(inside, from, 0);
    for (std::int64_t const to : {-128, -127, -16, 0, 99}) check_equal(anywhere, from, to);
  }
}

TEST_CASE("offsets of 2^31 and more lie outside of a tensor, also for copies", "[sim]") {
  ir::Module const module = product_to("%to");
  constexpr std::int64_t wrap = std::int64_t{1} << 32, half = std::int64_t{1} << 31;
  for (std::int64_t const row :
       {half - 1, half - 64, half, wrap, wrap + 16, -half, -half - 1, -wrap, -wrap + 16, wrap << 20, -(wrap << 20)}) {
    check_equal(module, row, 0);
    check_equal(module, 0, row);
  }
  // A box that may begin there is made by a copy out of shared memory as well.
  std::string const far = "  %wide = constant {value = 4294967296 : i64} : i64\n  %far = max %to, %wide : i64";
  ir::Module const stored = product_to("%far", far);
  CHECK(count(compiler::lower(stored, options()), ir::OpKind::TmaStoreOp) > 0);
  check_equal(stored, 0, 0);
  check_equal(stored, 0, wrap + 3);
}

TEST_CASE("the simulator reports copies at coordinates that 32 bits cannot hold, and stores before a tensor", "[sim]") {
  auto const reports = [](std::string const& copy, std::int64_t row) {
    ir::Module const module = module_of(
        "kernel @k(%A: in tensor<?x?xbf16>, %C: out tensor<?x?xbf16>, %row: i64) warps = 1 {\n"
        "  %in = tensor_map %A {box = [8, 64]} : tensor_map<8x64xbf16>\n"
        "  %out = tensor_map %C {box = [8, 64]} : tensor_map<8x64xbf16>\n"
        "  %s = buffer_alloc {align = 128} : shared<16x64xbf16, dense>\n"
        "  %bar = buffer_alloc {align = 8} : mbarrier<1>\n"
        "  %zero = constant {value = 0 : i64} : i64\n"
        "  %full = view %bar, %zero : mbarrier\n"
        "  %one = constant {value = 1 : i64} : i64\n"
        "  grid %one\n"
        "  elect {\n    mbarrier_init %bar\n    fence_mbarrier_init\n    yield\n  }\n"
        "  warp_barrier\n"
        "  elect {\n    mbarrier_expect %full {bytes = 2048}\n    tma_load %in, %s, %full, " +
        std::string(copy == "load" ? "%row" : "%zero") +
        ", %zero\n    yield\n  }\n"
        "  mbarrier_wait %full, %zero\n"
        "  elect {\n    tma_store %out, %s, " +
        std::string(copy == "store" ? "%row" : "%zero") +
        ", %zero\n    bulk_commit\n    bulk_wait\n    yield\n  }\n"
        "  return\n}\n");
    HostTensor a(Element::bf16, {16, 64}), c(Element::bf16, {16, 64});
    sim::Arguments const arguments = {a.view(), c.view(), ir::make_constant(Element::i64, row)};
    block::Simulation simulation(module.kernel(), arguments, {});
    return simulation.run(sim::machine::parse_schedule("latest")).str();
  };
  for (char const* copy : {"load", "store"}) {
    CHECK(reports(copy, 0) == "clean");
    CHECK_THAT(reports(copy, std::int64_t{1} << 32), ContainsSubstring("starts at element 4294967296 along axis 0"));
    CHECK_THAT(reports(copy, (std::int64_t{1} << 31) - 8), ContainsSubstring("starts at element 2147483648"));
    CHECK_THAT(reports(copy, -(std::int64_t{1} << 31) - 8), ContainsSubstring("starts at element -2147483656"));
  }
  CHECK(reports("load", -8) == "clean");
  CHECK_THAT(reports("store", -8), ContainsSubstring("starts at a negative offset"));
}

TEST_CASE("comparisons of coordinates with limits of any size keep their results in 32 bits", "[sim]") {
  // Tests that a column is before %end, and after %window columns before its row.
  std::string const text = R"(
kernel @k(%y: out tensor<?x?xf32>, %start: i64, %end: i64, %window: i64) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %eight = constant {value = 8 : i64} : i64
  grid %one
  %c = iota {axis = 1} : tile<1x8xi64>
  %s = splat %start : tile<1x8xi64>
  %column = add %c, %s : tile<1x8xi64>
  %e = splat %end : tile<1x8xi64>
  %before = compare %column, %e {predicate = lt} : tile<1x8xbool>
  %wide = broadcast %before : tile<4x8xbool>
  %r = iota : tile<4x1xi64>
  %w = splat %window : tile<4x1xi64>
  %first = sub %r, %w : tile<4x1xi64>
  %firsts = broadcast %first : tile<4x8xi64>
  %columns = broadcast %column : tile<4x8xi64>
  %near = compare %columns, %firsts {predicate = ge} : tile<4x8xbool>
  %f = cast %wide : tile<4x8xf32>
  %g = cast %near : tile<4x8xf32>
  store %y, %f, %zero, %zero
  store %y, %g, %zero, %eight
  return
}
)";
  // Sides that may wrap keep 64 bits; those of bounded numbers do not.
  std::string bounded = text;
  bounded.replace(bounded.find("%start: i64"), 11, "%any_start: i64");
  bounded.replace(bounded.find("%window: i64"), 12, "%any_window: i64");
  bounded.insert(bounded.find("  grid %one"), R"(  %least = constant {value = -4611686018427387904 : i64} : i64
  %most = constant {value = 4611686018427387904 : i64} : i64
  %low_start = max %any_start, %least : i64
  %start = min %low_start, %most : i64
  %low_window = max %any_window, %least : i64
  %window = min %low_window, %most : i64
)");
  constexpr std::int64_t max = std::numeric_limits<std::int64_t>::max(), min = std::numeric_limits<std::int64_t>::min();
  std::vector<std::int64_t> const numbers = {0, 1, 3, -3, 1000, max, max - 3, min, min + 3, max / 2, min / 2};
  for (bool const narrows : {false, true}) {
    ir::Module const module = module_of(narrows ? bounded : text);
    ir::Module narrowed = module.clone();
    transform::run_pipeline(narrowed, "inline-functions,narrow-masks", {});
    CHECK((ir::print(narrowed).find("tile<4x8xi32>") != std::string::npos) == narrows);
    for (std::int64_t const start :
         {std::int64_t{0}, std::int64_t{3}, std::int64_t{-5}, max / 2, min / 2, max - 3, min})
      for (std::int64_t const end : numbers)
        for (std::int64_t const window : numbers) {
          HostTensor expected(Element::f32, {4, 16}), found(Element::f32, {4, 16});
          for (auto* tensor : {&expected, &found}) {
            auto const number = [](std::int64_t value) { return ir::make_constant(Element::i64, value); };
            auto const result = sim::run((tensor == &expected ? module : narrowed).kernel(),
                                         {tensor->view(), number(start), number(end), number(window)});
            INFO(result.str());
            REQUIRE(result.clean());
          }
          INFO("start " << start << ", end " << end << ", window " << window);
          int differ = 0;
          for (std::int64_t i = 0; i < expected.count(); ++i) differ += expected.number(i) == found.number(i) ? 0 : 1;
          CHECK(differ == 0);
        }
  }
}
