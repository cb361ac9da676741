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

namespace {

/// Counts how often random kernels have each property.
class Census {
 public:
  void add(PipelineCase const& one) {
    abi::for_each_pass_option(one.options, [&](std::string_view name, std::string_view, auto const& value) {
      count(std::string(name) + "=" + abi::to_text(value));
    });
    for (test::RandomParameter const& parameter : one.parameters) add(parameter);
    for (auto const& attributes : one.module.kernel().parameter_attributes())
      count("inout", attributes.direction == Direction::inout);
    products_.clear(), right_.clear();
    for (auto const& function : one.module.functions()) {
      count("noinline", function->inlining == ir::Inline::no);
      ir::walk(*function, [&](ir::Op& op) { add(op, function->is_kernel()); });
    }
    add_products();
  }
  [[nodiscard]] int of(std::string const& property) const {
    auto const at = found_.find(property);
    return at == found_.end() ? 0 : at->second;
  }

 private:
  void count(std::string const& property, bool holds = true) { found_[property] += holds ? 1 : 0; }

  void add(test::RandomParameter const& parameter) {
    count("any size", parameter.any);
    count("specials", parameter.specials != 0);
    count("scaled up", parameter.exponent > 0);
    count("scaled down", parameter.exponent < 0);
    count("reversed", parameter.reversed != 0);
    if (parameter.is_tensor || !is_integer(parameter.element)) return;
    std::int64_t const value = ir::to_int(parameter.scalar);
    count("argument below 0", value < 0);
    count("argument of more than 32 bits", value != static_cast<std::int32_t>(value));
  }

  void add(ir::Op const& op, bool in_kernel) {
    count(std::string(op.info().mnemonic));
    if (op.is<ir::DotOp>()) {
      products_.insert(op.operand(0)->type().element());
      right_.insert(op.operand(1));
    }
    if (op.is<ir::CallOp>()) add_call(op, in_kernel);
    if (op.is<ir::ForOp>()) add_loop(op);
    if (op.is<ir::IfOp>()) count(fmt::format("if with {}", op.result_count()));
    count("pairwise", op.is<ir::ReduceOp>() && op.as<ir::ReduceOp>().order == ir::Order::pairwise);
    if (op.is<ir::LoadOp>() || op.is<ir::StoreOp>())
      count(fmt::format("access to rank {}", op.operand(0)->type().rank()));
  }

  void add_call(ir::Op const& op, bool in_kernel) {
    count(in_kernel ? "call in kernel" : "call in function");
    std::set<ir::Value const*> tensors;
    for (ir::Value const* operand : op.operands())
      count("one tensor twice", operand->type().is_tensor() && !tensors.insert(operand).second);
  }

  void add_loop(ir::Op const& op) {
    auto const& loop = op.as<ir::ForOp>();
    count("step from an argument", op.operand(2)->defining_op() == nullptr);
    for (int i = 3; i < op.operand_count(); ++i) {
      ir::Type const& type = op.operand(i)->type();
      count("sums of 16 bits", type.is_tile() && bits(type.element()) == 16);
    }
    count(loop.distance != 0 ? "distance" : loop.stages != 0 ? "stages" : "no stages");
    for (ir::Op const* at = op.parent_op(); at != nullptr; at = at->parent_op())
      count("loop in " + std::string(at->info().mnemonic));
  }

  void add_products() {
    for (ir::Value const* value : right_) {
      ir::Op const* const op = value->defining_op();
      count("straight and transposed", op != nullptr && op->is<ir::TransOp>() && right_.count(op->operand(0)) != 0);
    }
    for (Element const element : products_) count("product of " + std::string(name(element)));
    count("products of two elements", products_.size() == 2);
    count("no products", products_.empty());
  }

  std::map<std::string, int> found_;
  std::set<Element> products_;        ///< elements of the products of a kernel
  std::set<ir::Value const*> right_;  ///< their right operands
};

}  // namespace

TEST_CASE("fuzz: random kernels have the properties that their generators promise", "[N2]") {
  Census census;
  for (std::uint64_t seed = 1; seed <= 600; ++seed) census.add(random_case(seed));
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
    CHECK(census.of(feature) >= 5);
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
