// Tests that rings hold the values that the loop would have loaded. Cases are tiles of several uses, converted operands
// of products, and reductions of products and loads in any layout.
#include <fmt/format.h>

#include "compiler/compile.hpp"
#include "fuzz/pipeline_case.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "sim/block/simulate.hpp"
#include "support/catch.hpp"
#include "support/host_tensor.hpp"
#include "support/module.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

std::string with(std::string text, std::string const& name, std::int64_t value) {
  std::string const digits = fmt::to_string(value);
  for (std::size_t at = 0; (at = text.find(name, at)) != std::string::npos; at += digits.size())
    text.replace(at, name.size(), digits);
  return text;
}

void check(fuzz::PipelineCase const& one) {
  fuzz::Judgement const found = fuzz::judge(one);
  INFO(fuzz::case_text(one));
  INFO(found.pass << ": " << found.reason);
  CHECK(found.kind == fuzz::Judgement::Kind::right);
}

ir::Module lowered(fuzz::PipelineCase const& one) { return compiler::lower(one.module, one.options); }

constexpr char two_users[] = R"(tegula-ir 1
// replay: target=cuda architecture=sm_90a warps=0 stages=0 pipeline=default
// argument: tensor 100 $D gap=$G inner=1 bound=2
// argument: tensor $D 16 gap=0 inner=1 bound=2
// argument: tensor 100 16 gap=0 inner=1 bound=0
// argument: tensor 100 1 gap=3 inner=1 bound=0

kernel @two(%A: in tensor<?x?xbf16> {unit_inner, aligned_16}, %B: in tensor<?x?xbf16> {unit_inner, aligned_16}, %C: out tensor<?x?xf32> {unit_inner, aligned_16}, %S: out tensor<?x?xf32> {unit_inner, aligned_16}) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %two = constant {value = 2 : i64} : i64
  %m = constant {value = 64 : i64} : i64
  %k = constant {value = 16 : i64} : i64
  %depth = extent %A {axis = 1} : i64
  %trips = ceil_div %depth, %k : i64
  grid %two
  %block = block_index : i64
  %row = mul %block, %m : i64
  %none = constant {value = 0 : f32} : tile<64x16xf32>
  %nothing = constant {value = 0 : f32} : tile<64x1xf32>
  %acc, %sums = for %i = %zero to %trips step %one carry (%sum = %none, %rows = %nothing) {stages = $S} : tile<64x16xf32>, tile<64x1xf32> {
    %at = mul %i, %k : i64
    %a = load %A, %row, %at : tile<64x16xbf16>
    %b = load %B, %at, %zero : tile<16x16xbf16>
    %next = dot %a, %b, %sum : tile<64x16xf32>
    %wide = cast %a : tile<64x16xf32>
    %part = reduce %wide {axis = 1} : tile<64x1xf32>
    %turn = add %rows, %part : tile<64x1xf32>
    yield %next, %turn
  }
  store %C, %acc, %row, %zero
  store %S, %sums, %row, %zero
  return
}
)";

constexpr char converted[] = R"(tegula-ir 1
// replay: target=cuda architecture=sm_90a warps=0 stages=$S pipeline=default
// argument: tensor 128 $D gap=$G inner=1 bound=2
// argument: tensor $D 32 gap=0 inner=1 bound=2
// argument: tensor 128 32 gap=0 inner=1 bound=0

kernel @mixed(%A: in tensor<?x?xf32> {unit_inner, aligned_16}, %B: in tensor<?x?xbf16> {unit_inner, aligned_16}, %C: out tensor<?x?xf32> {unit_inner, aligned_16}) {
  %zero = constant {value = 0 : i64} : i64
  %one = constant {value = 1 : i64} : i64
  %two = constant {value = 2 : i64} : i64
  %m = constant {value = 64 : i64} : i64
  %k = constant {value = 32 : i64} : i64
  %depth = extent %A {axis = 1} : i64
  %trips = ceil_div %depth, %k : i64
  grid %two
  %block = block_index : i64
  %row = mul %block, %m : i64
  %none = constant {value = 0 : f32} : tile<64x32xf32>
  %acc = for %i = %zero to %trips step %one carry (%sum = %none) {stages = 2} : tile<64x32xf32> {
    %at = mul %i, %k : i64
    %a = load %A, %row, %at : tile<64x32xf32>
    %small = cast %a : tile<64x32xbf16>
    %b = load %B, %at, %zero : tile<32x32xbf16>
    %next = dot %small, %b, %sum : tile<64x32xf32>
    yield %next
  }
  store %C, %acc, %row, %zero
  return
}
)";

}  // namespace

TEST_CASE("a copied tile that a product and a reduction use is right at every trip count", "[sim][F1]") {
  for (int const stages : {2, 3, 4})
    for (int const trips : {0, 1, stages - 1, stages, stages + 1, 2 * stages + 1}) {
      int const depth = trips == 0 ? 0 : 16 * trips - 3;
      auto const one =
          fuzz::read_case(with(with(with(two_users, "$D", depth), "$G", 16 * trips - depth), "$S", stages));
      check(one);
      if (trips != stages) continue;
      ir::Module const module = lowered(one);
      CHECK(count(module, ir::OpKind::WgmmaOp) >= 1);
      CHECK(count(module, ir::OpKind::BufferLoadOp) >= 1);  // the reduction reads the stage that the product reads
      CHECK(count(module, ir::OpKind::TmaLoadOp) >= 2);
    }
}

TEST_CASE("a product whose operand is converted after its load gives the same bits with copies ahead", "[sim][F2]") {
  auto const result = [](int stages, int depth, int& copies) {
    auto const one = fuzz::read_case(with(with(with(converted, "$D", depth), "$G", 4 - depth % 4), "$S", stages));
    check(one);
    ir::Module const module = lowered(one);
    copies = count(module, ir::OpKind::TmaLoadOp);
    std::mt19937_64 random(static_cast<std::uint64_t>(depth));
    HostTensor a(Element::f32, {128, depth}, (4 - depth % 4) % 4, 0, 1), b(Element::bf16, {depth, 32}),
        c(Element::f32, {128, 32});
    a.fill(random), b.fill(random);  // any numbers: every rounding shows
    auto const outcome = sim::block::run(module.kernel(), {a.view(), b.view(), c.view()});
    INFO(outcome.str());
    CHECK(outcome.clean());
    std::vector<std::uint64_t> bits;
    for (std::int64_t i = 0; i < c.count(); ++i) bits.push_back(c.get(i).bits);
    return bits;
  };
  for (int const depth : {0, 31, 64, 97, 130, 290}) {
    int copies = 0;
    auto const waiting = result(1, depth, copies);
    for (int const stages : {2, 4}) {
      CHECK(result(stages, depth, copies) == waiting);
      CHECK(copies >= 2);
    }
  }
}

TEST_CASE("a sum of sums does not need a conversion between them, in any layout", "[sim][F21]") {
  struct From {
    std::string value;  ///< %x, of the shape in the middle
    std::string shape;
  };
  std::vector<From> const all = {
      {"  %x = load %A, %zero, %zero : tile<$shapexf32>\n", "64x32"},
      {"  %x = load %A, %zero, %zero : tile<$shapexf32>\n", "8x256"},
      {"  %x = load %A, %zero, %zero : tile<$shapexf32>\n", "128x2"},
      {"  %x = load %A, %zero, %zero : tile<$shapexf32>\n", "3x5"},
      {"  %t = load %A, %zero, %zero : tile<32x64xf32>\n  %x = trans %t {permutation = [1, 0]} : tile<$shapexf32>\n",
       "64x32"},
      {"  %a = load %B, %zero, %zero : tile<64x16xbf16>\n  %b = load %B, %zero, %zero : tile<16x32xbf16>\n"
       "  %n = constant {value = 0 : f32} : tile<64x32xf32>\n  %x = dot %a, %b, %n : tile<$shapexf32>\n",
       "64x32"},  // wgmma
      {"  %a = load %B, %zero, %zero : tile<32x16xbf16>\n  %b = load %B, %zero, %zero : tile<16x16xbf16>\n"
       "  %n = constant {value = 0 : f32} : tile<32x16xf32>\n  %x = dot %a, %b, %n : tile<$shapexf32>\n",
       "32x16"},  // mma
  };
  for (int const warps : {0, 1, 4, 8})
    for (From const& from : all) {
      std::string const rows = from.shape.substr(0, from.shape.find('x'));
      std::string text = fmt::format(
          "tegula-ir 1\n"
          "// replay: target=cuda architecture=sm_90a warps={} stages=0 pipeline=default\n"
          "// argument: tensor 100 250 gap=2 inner=1 bound=2\n"
          "// argument: tensor 60 32 gap=0 inner=1 bound=2\n"
          "// argument: tensor 1 1 gap=3 inner=1 bound=0\n"
          "kernel @k(%A: in tensor<?x?xf32> {{unit_inner, aligned_16}}, %B: in tensor<?x?xbf16> {{unit_inner, "
          "aligned_16}}, %C: out tensor<?x?xf32> {{unit_inner, aligned_16}}) {{\n"
          "  %zero = constant {{value = 0 : i64}} : i64\n"
          "  %one = constant {{value = 1 : i64}} : i64\n"
          "  grid %one\n"
          "{}  %r = reduce %x {{axis = 1}} : tile<{}x1xf32>\n"
          "  %s = reduce %r : tile<1x1xf32>\n"
          "  store %C, %s, %zero, %zero\n"
          "  return\n"
          "}}\n",
          warps, from.value, rows);
      for (std::size_t at = 0; (at = text.find("$shape")) != std::string::npos;) text.replace(at, 6, from.shape);
      auto const one = fuzz::read_case(text);
      if (fuzz::judge(one).kind == fuzz::Judgement::Kind::refused) continue;  // a product in that many warps
      check(one);
      ir::walk(lowered(one).kernel(), [&](ir::Op& op) {
        bool const sum = op.is<ir::ReduceOp>() && op.operand(0)->type().shape()[1] == 1;
        if (sum) CHECK(op.operand(0)->defining_op()->is<ir::ReduceOp>());
      });
    }
}
