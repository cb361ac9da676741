// Tests the judge of random kernels: cases that once came out wrong, faults planted after a pass, cases as text.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "fuzz/generators.hpp"
#include "fuzz/pipeline_case.hpp"
#include "ir/core/builder.hpp"
#include "ir/core/walk.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "abi/pass_options.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::fuzz;

namespace {

std::vector<std::string> kept() {
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::directory_iterator(std::string(TEGULA_TEST_DIR) + "/fuzz/kept"))
    files.push_back(entry.path().string());
  std::sort(files.begin(), files.end());
  return files;
}

PipelineCase kept_case(std::string const& name) {
  return read_case(test::read_file(std::string(TEGULA_TEST_DIR) + "/fuzz/kept/" + name + ".tir"));
}

int ops_in(ir::Module const& module) {
  int count = 0;
  ir::walk(module.kernel(), [&](ir::Op&) { ++count; });
  return count;
}

/// Erases the first op of a kind after one pass.
template <class OpStruct>
JudgeOptions without_first(std::string_view wanted) {
  JudgeOptions options;
  options.behind = [wanted](std::string_view pass, ir::Module& module) {
    if (pass != wanted) return;
    ir::Op* first = nullptr;
    ir::walk(module.kernel(), [&](ir::Op& op) { first = first == nullptr && op.is<OpStruct>() ? &op : first; });
    if (first == nullptr) return;
    for (int i = 0; i < first->result_count(); ++i) first->result(i)->replace_all_uses_with(*first->operand(i));
    first->erase();
  };
  return options;
}

}  // namespace

TEST_CASE("fuzz: kernels of former faults are right after each pass", "[N2]") {
  auto const files = kept();
  CHECK(files.size() >= 23);
  for (std::string const& file : files) {
    INFO(file);
    KeptCase const kept = read_kept(test::read_file(file));
    // Kernels of the whole pipeline are judged after each of its passes.
    Generator const& judging = kept.generator.name == "pipeline" ? generator_named("each-pass") : kept.generator;
    Verdict const found = judging.judge(kept.text);
    INFO(found.reason);
    CHECK(!found.wrong());
    if (kept.generator.name != "damaged-text") CHECK(found.kind != Verdict::Kind::refused);
  }
}

TEST_CASE("fuzz: every generator draws the same case again, and its file is read as written", "[N2]") {
  for (Generator const& generator : generators())
    for (std::uint64_t seed = 1; seed <= 8; ++seed) {
      INFO(generator.name << ", seed " << seed);
      std::string const text = generator.draw(seed);
      CHECK(generator.draw(seed) == text);
      KeptCase const kept = read_kept(kept_text(generator, text));
      CHECK(kept.generator.name == generator.name);
      CHECK(kept.text == text);
    }
  CHECK_THROWS_WITH(generator_named("kernels"), test::ContainsSubstring("there is no generator kernels"));
}

TEST_CASE("fuzz: a pass that removes the expected bytes of a barrier is named, and the kernel shrinks", "[N2]") {
  // The first of the kept cases, with all kinds of things that do not matter.
  std::string text = test::read_file(std::string(TEGULA_TEST_DIR) + "/fuzz/kept/one_stage_in_next_turn.tir");
  auto const put = [&](std::string const& before, std::string const& more) { text.insert(text.find(before), more); };
  put("\n// The products of a ring",
      "// argument: tensor 10 20 gap=3 inner=1 bound=2\n// argument: tensor 70 33 gap=0 inner=2 bound=0\n");
  put(") {\n", ", %b: in tensor<?x?xf32>, %p: out tensor<?x?xf32>");
  put("  store %o",
      "  %more = load %b, %zero, %one : tile<64x32xf32>\n"
      "  %most = reduce %more {axis = 1, combine = max} : tile<64x1xf32>\n"
      "  %all = broadcast %most : tile<64x32xf32>\n"
      "  %both = add %all, %r : tile<64x32xf32>\n"
      "  store %p, %both, %one, %zero\n");
  PipelineCase const one = read_case(text);
  CHECK(judge(one).kind == Judgement::Kind::right);
  JudgeOptions const options = without_first<ir::MbarrierExpectOp>("specialize-warps");
  Judgement const found = judge(one, options);
  CHECK(found.wrong());
  CHECK(found.pass == "specialize-warps");
  CHECK_THAT(found.reason, test::ContainsSubstring("deadlock"));
  PipelineCase const small = shrink(one, found, options);
  INFO(case_text(small));
  CHECK(judge(small, options).pass == "specialize-warps");
  CHECK(judge(small).kind == Judgement::Kind::right);
  CHECK(ops_in(small.module) <= 16);
  CHECK(small.parameters.size() <= 2);
}

TEST_CASE("fuzz: a pass that loses an addition is named", "[N2]") {
  PipelineCase const one = kept_case("store_then_load");
  Judgement const found = judge(one, without_first<ir::AddOp>("canonicalize"));
  CHECK(found.pass == "canonicalize");
  CHECK_THAT(found.reason, test::ContainsSubstring("argument 0: element"));
}

TEST_CASE("fuzz: a pass that leaves out a barrier is named", "[N2]") {
  PipelineCase const one = kept_case("store_then_load");
  Judgement const found = judge(one, without_first<ir::BarrierOp>("insert-barriers"));
  CHECK(found.pass == "insert-barriers");
  CHECK_THAT(found.reason, test::ContainsSubstring("race"));
}

TEST_CASE("fuzz: a pass that changes its own output is named", "[N2]") {
  JudgeOptions options;
  options.each_pass = true;
  options.behind = [](std::string_view pass, ir::Module& module) {
    if (pass == "eliminate-dead-code") (void)ir::Builder::before(module.kernel().body().back()).index(7);
  };
  Judgement const found = judge(kept_case("store_then_load"), options);
  CHECK(found.pass == "eliminate-dead-code");
  CHECK_THAT(found.reason, test::ContainsSubstring("run again"));
}

TEST_CASE("fuzz: random kernels have the properties that their generators promise", "[N2]") {
  std::map<std::string, int> found;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) {
    PipelineCase const one = random_case(seed);
    abi::for_each_pass_option(one.options, [&](std::string_view name, std::string_view, auto const& value) {
      found[std::string(name) + "=" + abi::to_text(value)]++;
    });
    for (test::RandomParameter const& parameter : one.parameters) {
      found["any size"] += parameter.any ? 1 : 0;
      found["specials"] += parameter.specials != 0 ? 1 : 0;
      found["scaled up"] += parameter.exponent > 0 ? 1 : 0;
      found["scaled down"] += parameter.exponent < 0 ? 1 : 0;
      found["reversed"] += parameter.reversed != 0 ? 1 : 0;
      if (parameter.is_tensor || !is_integer(parameter.element)) continue;
      std::int64_t const value = ir::to_int(parameter.scalar);
      found["argument below 0"] += value < 0 ? 1 : 0;
      found["argument of more than 32 bits"] += value != static_cast<std::int32_t>(value) ? 1 : 0;
    }
    for (auto const& attributes : one.module.kernel().parameter_attributes())
      found["inout"] += attributes.direction == Direction::inout ? 1 : 0;
    std::set<Element> products;
    std::set<ir::Value const*> taken;  // right operands of products
    for (auto const& function : one.module.functions()) {
      found["noinline"] += function->inlining == ir::Inline::no ? 1 : 0;
      ir::walk(*function, [&](ir::Op& op) {
        found[std::string(op.info().mnemonic)]++;
        if (op.is<ir::DotOp>()) products.insert(op.operand(0)->type().element());
        if (op.is<ir::DotOp>()) taken.insert(op.operand(1));
        if (op.is<ir::CallOp>()) {
          found[function->is_kernel() ? "call in kernel" : "call in function"]++;
          std::set<ir::Value const*> tensors;
          for (ir::Value const* operand : op.operands())
            if (operand->type().is_tensor() && !tensors.insert(operand).second) found["one tensor twice"]++;
        }
        if (op.is<ir::ForOp>()) {
          auto const& loop = op.as<ir::ForOp>();
          found["step from an argument"] += op.operand(2)->defining_op() == nullptr ? 1 : 0;
          for (int i = 3; i < op.operand_count(); ++i)
            found["sums of 16 bits"] +=
                op.operand(i)->type().is_tile() && bits(op.operand(i)->type().element()) == 16 ? 1 : 0;
          found[loop.distance != 0 ? "distance" : loop.stages != 0 ? "stages" : "no stages"]++;
          for (ir::Op const* at = op.parent_op(); at != nullptr; at = at->parent_op())
            found["loop in " + std::string(at->info().mnemonic)]++;
        }
        if (op.is<ir::IfOp>()) found[fmt::format("if with {}", op.result_count())]++;
        if (op.is<ir::ReduceOp>() && op.as<ir::ReduceOp>().order == ir::Order::pairwise) found["pairwise"]++;
        if (op.is<ir::LoadOp>() || op.is<ir::StoreOp>())
          found[fmt::format("access to rank {}", op.operand(0)->type().rank())]++;
      });
    }
    for (ir::Value const* value : taken) {
      ir::Op const* const op = value->defining_op();
      if (op != nullptr && op->is<ir::TransOp>() && taken.count(op->operand(0)) != 0)
        found["straight and transposed"]++;
    }
    for (Element const element : products) found["product of " + std::string(name(element))]++;
    found["products of two elements"] += products.size() == 2 ? 1 : 0;
    found["no products"] += products.empty() ? 1 : 0;
  }
  for (char const* const feature : {"inout",
                                    "noinline",
                                    "any size",
                                    "specials",
                                    "scaled up",
                                    "scaled down",
                                    "reversed",
                                    "argument below 0",
                                    "argument of more than 32 bits",
                                    "one tensor twice",
                                    "step from an argument",
                                    "sums of 16 bits",
                                    "straight and transposed",
                                    "call in kernel",
                                    "call in function",
                                    "dot",
                                    "reduce",
                                    "pairwise",
                                    "exp2",
                                    "div",
                                    "select",
                                    "trans",
                                    "broadcast",
                                    "cast",
                                    "iota",
                                    "stages",
                                    "distance",
                                    "no stages",
                                    "loop in for",
                                    "loop in if",
                                    "if with 0",
                                    "if with 1",
                                    "if with 2",
                                    "access to rank 1",
                                    "access to rank 2",
                                    "access to rank 3",
                                    "product of bf16",
                                    "product of f16",
                                    "product of f32",
                                    "product of i8",
                                    "product of e4m3",
                                    "product of e5m2",
                                    "products of two elements",
                                    "butterfly",
                                    "flip",
                                    "resize",
                                    "no products",
                                    "warps=8",
                                    "stages=5",
                                    "distance=1",
                                    "unroll=4",
                                    "exact=1",
                                    "epilogue=off",
                                    "persistence=off",
                                    "persistence=on",
                                    "specialization=off",
                                    "specialization=on"}) {
    INFO(feature);
    CHECK(found[feature] >= 5);
  }
}

TEST_CASE("fuzz: texts whose threads all hold copies of the elements run with few schedules", "[N2]") {
  auto const runs_of =
      [](std::string const& type) {
        JudgeOptions options;
        options.each_pass = true;
        options.max_swept = 1e8;
        Judgement const found = judge(read_case(R"(tegula-ir 1
// replay: target=cuda architecture=sm_90a warps=8 stages=0 pipeline=default
// argument: tensor 4 32 32 gap=0 inner=1 bound=2
// argument: tensor 4 32 32 gap=0 inner=1 bound=0
kernel @copies(%a: in tensor<?x?x?xf32>, %c: out tensor<?x?x?xf32>) {
  %zero = constant {value = 0 : i64} : i64
  %four = constant {value = 4 : i64} : i64
  grid %four
  %at = block_index : i64
  %x = load %a, %at, %zero, %zero : )" + type + R"(
  %y = add %x, %x : )" + type + R"(
  %z = mul %y, %x : )" + type + R"(
  %block = mul %at, %four : i64
  store %c, %z, %block, %zero, %zero
  return
}
)"),
                                      options);
        INFO(found.reason);
        CHECK(found.kind == Judgement::Kind::right);
        return found.runs;
      };
  CHECK(runs_of("tile<4x32x32xf32>") > 40);
  CHECK(runs_of("tile<15x15x15xf32>") <= 15);  // three for each pass that changed the text
}

TEST_CASE("fuzz: scaled numbers are small multiples of one power of two, or absorb all others in a sum", "[N2]") {
  int tensors = 0, nans = 0, infinities = 0;
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    PipelineCase const one = random_case(seed);
    for (std::size_t p = 0; p < one.parameters.size(); ++p) {
      test::RandomParameter const& parameter = one.parameters[p];
      if (!parameter.is_tensor || parameter.any || parameter.specials == 0) continue;
      ++tensors;
      Extents extents;
      for (std::int64_t const extent : parameter.extents) extents.push_back(extent);
      test::HostTensor tensor(parameter.element, extents);
      fill(tensor, parameter, p);
      for (std::int64_t i = 0; i < tensor.count(); ++i) {
        double const number = tensor.number(i), units = std::ldexp(number, -static_cast<int>(parameter.exponent));
        nans += std::isnan(number) ? 1 : 0;
        infinities += std::isinf(number) ? 1 : 0;
        if (std::isfinite(number) && (units != std::round(units) || std::fabs(units) > 2))
          FAIL("seed " << seed << ", argument " << p << " of " << name(parameter.element) << ": " << number);
      }
    }
  }
  CHECK(tensors >= 50);
  CHECK(nans >= 50);
  CHECK(infinities >= 20);
}

TEST_CASE("fuzz: cases read back from their text", "[N2]") {
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    PipelineCase const one = random_case(seed);
    std::string const text = case_text(one);
    INFO(text);
    CHECK(case_text(read_case(text)) == text);
  }
  std::string const text = test::read_file(std::string(TEGULA_TEST_DIR) + "/fuzz/kept/store_then_load.tir");
  auto const without = [&](std::string const& piece) {
    std::string result = text;
    return result.erase(result.find(piece), piece.size());
  };
  CHECK_THROWS_WITH(read_case(without("// argument: tensor 60 40 gap=4 inner=1 bound=2\n")),
                    test::ContainsSubstring("1 arguments for 2 parameters"));
  CHECK_THROWS_WITH(read_case(without(" 60 40")), test::ContainsSubstring("0 extents of a tensor of rank 2"));
}
