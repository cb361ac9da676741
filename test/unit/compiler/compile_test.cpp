#include "compiler/compile.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <filesystem>

#include "ir/core/equal.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/options.hpp"
#include "support/count_allocations.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
namespace fs = std::filesystem;

namespace {

ir::Module kernel_named(std::string const& name) {
  auto parsed = ir::parse(test::read_file(std::string(TEGULA_TEST_DIR) + "/ir/roundtrip/" + name + ".tir"));
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  return std::move(parsed.module);
}

CompileOptions for_target(Target target) {
  CompileOptions options;
  options.target = target;
  return options;
}

}  // namespace

TEST_CASE("compile: a kernel for the host has parameters, launch program and phases") {
  CompiledKernel const kernel = compiler::compile(kernel_named("softmax"), for_target(Target::host));
  CHECK(kernel.name == "softmax");
  REQUIRE(kernel.parameters.size() == 2);
  CHECK(kernel.parameters[1].direction == Direction::out);
  CHECK(kernel.launch.grid[0] >= 0);
  REQUIRE(kernel.launch.requirements.size() == 1);
  CHECK(kernel.launch.requirements[0].message == "softmax: a row must fit one tile");
  CHECK(kernel.image_kind == ImageKind::host_object);
  CHECK_FALSE(kernel.image.empty());
  CHECK_FALSE(kernel.phases.empty());
}

TEST_CASE("compile: a kernel for the device is PTX with the same parameters") {
  CompiledKernel const kernel = compiler::compile(kernel_named("vadd"), for_target(Target::cuda));
  CHECK(kernel.image_kind == ImageKind::ptx);
  CHECK_THAT(kernel.image, test::ContainsSubstring(".target sm_90a"));
  CHECK(kernel.parameters.size() == 3);
  CHECK(kernel.threads_per_cta > 0);
}

TEST_CASE("compile: facts of the options reach the kernel, a wrong number of them is refused") {
  CompileOptions options = for_target(Target::host);
  options.facts = {{true, false}, {true, true}, {}};
  CompiledKernel const kernel = compiler::compile(kernel_named("vadd"), options);
  CHECK(kernel.parameters[0].facts == TensorFacts{true, false});
  CHECK(kernel.parameters[1].facts == TensorFacts{true, true});
  options.facts.pop_back();
  CHECK_THROWS_WITH(compiler::compile(kernel_named("vadd"), options),
                    "specialize: 2 facts for the 3 parameters of @vadd");
}

TEST_CASE("compile: the caller's module is unchanged, and a broken one is refused") {
  ir::Module const module = kernel_named("gemm");
  std::string const before = ir::print(module);
  CompileOptions options = for_target(Target::host);
  options.stages = 2;
  ir::Module const lowered = compiler::lower(module, options);
  CHECK(ir::print(module) == before);
  CHECK_THAT(ir::print(lowered), test::ContainsSubstring("{stages = 2}"));
  auto broken = ir::parse("tegula-ir 1\nkernel @k(%a: i64, %b: i32) {\n  %c = add %a, %b : i64\n  return\n}\n");
  CHECK_THROWS_WITH(compiler::compile(broken.module, options), "verifier: add: lhs is i64 but rhs is i32");
}

TEST_CASE("compile: the options' pipeline replaces the target's own") {
  CompileOptions options = for_target(Target::host);
  options.pipeline = "canonicalize";
  CHECK_THAT(ir::print(compiler::lower(kernel_named("softmax"), options)), test::ContainsSubstring("exp"));
  options.pipeline = "canonicalise";
  CHECK_THROWS_AS(compiler::compile(kernel_named("softmax"), options), UserError);
}

TEST_CASE("compile: code generation for a GPU obeys the barriers of the text, and refuses one that lacks them") {
  auto const parsed = ir::parse(R"(tegula-ir 1
kernel @k(%t: inout tensor<?x?xf32>) {
  %zero = constant {value = 0 : i64} : i64
  %extent = extent %t : i64
  grid %extent
  %at = block_index : i64
  %x = load %t, %at, %zero : tile<16x64xf32>
  store %t, %x, %zero, %at
  return
}
)");
  REQUIRE(parsed.ok());
  CompileOptions options = for_target(Target::cuda);
  std::string const own = transform::to_string(compiler::default_pipeline(parsed.module, options));
  std::size_t const last = own.rfind(",insert-barriers");
  REQUIRE(last != std::string::npos);
  options.pipeline = own.substr(0, last);
  CHECK_THROWS_WITH(compiler::compile(parsed.module, options),
                    "compile: code generation for a GPU needs barriers, but there is store in @k that may run before "
                    "load is over; run the target's own pipeline before it");
  options.pipeline = own;
  CHECK_THAT(compiler::compile(parsed.module, options).image, test::ContainsSubstring("bar.sync"));
}

TEST_CASE("compile: dumps of LLVM IR, assembly, PTX and launch program") {
  fs::path const folder = fs::temp_directory_path() / fmt::format("tegula-compile-test-{}", ::getpid());
  fs::remove_all(folder);
  support::Options environment;
  using Kind = support::DumpItem::Kind;
  environment.dump = {
      {Kind::llvm, ""}, {Kind::assembly, ""}, {Kind::ptx, ""}, {Kind::launch, ""}, {Kind::ir_after, "expand-math"}};
  environment.dump_dir = folder.string();
  environment.dump_kernel = "softmax";
  support::ScopedOptions const scoped(environment);
  compiler::compile(kernel_named("vadd"), for_target(Target::host));  // another kernel: not dumped
  CHECK_FALSE(fs::exists(folder));
  compiler::compile(kernel_named("softmax"), for_target(Target::host));
  CHECK_THAT(test::read_file((folder / "softmax.ll").string()), test::ContainsSubstring("define"));
  CHECK_THAT(test::read_file((folder / "softmax.s").string()), test::ContainsSubstring(".text"));
  CHECK_THAT(test::read_file((folder / "softmax.launch").string()), test::ContainsSubstring("require #"));
  CHECK_THAT(test::read_file((folder / "softmax.14-expand-math.tir").string()), test::ContainsSubstring("bitcast"));
  compiler::compile(kernel_named("softmax"), for_target(Target::cuda));
  CHECK_THAT(test::read_file((folder / "softmax.ptx").string()), test::ContainsSubstring(".entry tegula_softmax"));
  fs::remove_all(folder);
}

TEST_CASE("compile: passes allocate little for each kernel of the golden tests") {
  struct Limit {
    char const* name;
    std::int64_t allocations, bytes;  ///< twice those that were counted
  };
  for (auto const& [name, most, most_bytes] : {Limit{"vadd", 3600, 190'000}, Limit{"softmax", 11'400, 560'000},
                                               Limit{"gemm", 11'200, 580'000}, Limit{"attention", 27'400, 1'400'000}}) {
    INFO(name);
    ir::Module const module = kernel_named(name);
    (void)compiler::lower(module, for_target(Target::host));  // tables that all kernels share
    test::Allocations const made = test::allocations_of([&] { compiler::lower(module, for_target(Target::host)); });
    INFO(made.count << " allocations, " << made.bytes << " bytes");
    CHECK(made.count < most);
    CHECK(made.bytes < most_bytes);
  }
}

TEST_CASE("compile: the default pipelines of both targets have a valid order") {
  for (Target const target : {Target::host, Target::cuda}) {
    CHECK(transform::why_not_in_this_order(compiler::default_pipeline(target), kernel_named("functions")) == "");
  }
}

TEST_CASE("compile: the result of the passes prints, reads back and passes the verifier, layouts included") {
  for (Target const target : {Target::host, Target::cuda})
    for (char const* name : {"vadd", "softmax", "functions"}) {
      INFO(name);
      ir::Module const lowered = compiler::lower(kernel_named(name), for_target(target));
      std::string const text = ir::print(lowered);
      if (target == Target::cuda) CHECK_THAT(text, test::ContainsSubstring("warps = "));
      auto const parsed = ir::parse(text);
      INFO(text << parsed.diagnostics.str());
      REQUIRE(parsed.ok());
      CHECK(ir::equal(lowered, parsed.module));
      CHECK(ir::print(parsed.module) == text);
      CHECK(ir::verify(parsed.module).str() == "");
    }
}
