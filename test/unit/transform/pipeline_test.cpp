#include "support/module.hpp"
#include "transform/pipeline.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>

#include "ir/core/builder.hpp"
#include "ir/core/equal.hpp"
#include "ir/text/text.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "tegula/support/error.hpp"

using namespace tegula;
using namespace tegula::test;
using namespace tegula::transform;
namespace fs = std::filesystem;

namespace {

constexpr char text[] =
    "tegula-ir 1\n\n"
    "kernel @k(%o: out tensor<?xi64>, %n: i64) {\n"
    "  %z = constant {value = 0 : i64} : i64\n"
    "  %a = add %n, %z : i64\n"
    "  %t = splat %a : tile<4xi64>\n"
    "  store %o, %t, %z\n"
    "  return\n"
    "}\n";

CompileOptions for_cuda() {
  CompileOptions options;
  options.target = Target::cuda;
  return options;
}

/// Makes a fresh empty folder, removed at the end.
struct Folder {
  fs::path path =
      fs::temp_directory_path() /
      fmt::format("tegula-pipeline-test-{}", std::hash<std::string>()(Catch::getResultCapture().getCurrentTestName()));
  Folder() {
    fs::remove_all(path);
    fs::create_directories(path);
  }
  ~Folder() { fs::remove_all(path); }
};

PassResult throws(ir::Function&, PassContext&) { throw std::runtime_error("index 7 of 3"); }
PassResult breaks_ir(ir::Function& function, PassContext&) {
  function.body().back().erase();
  return PassResult::changed;
}
PassResult reports(ir::Function&, PassContext& context) {
  context.diagnostics.error("shared memory: 245760 bytes needed, 232448 allowed");
  return PassResult::unchanged;
}
PassResult nothing(ir::Function&, PassContext&) { return PassResult::unchanged; }

std::string error_of(ir::Module& module, std::vector<PassInfo const*> const& passes,
                     support::Options const& environment) {
  try {
    run_pipeline(module, passes, {}, environment);
  } catch (Error const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("pipeline: every pass of the table is a verb in kebab case with a summary") {
  for (PassInfo const& pass : passes()) {
    INFO(pass.name);
    CHECK(pass.name.find_first_not_of("abcdefghijklmnopqrstuvwxyz-") == std::string_view::npos);
    CHECK_FALSE(pass.summary.empty());
    CHECK((pass.function != nullptr) != (pass.module != nullptr));
    CHECK(find_pass(pass.name) == &pass);
    CHECK_THAT(describe_passes(), test::ContainsSubstring(std::string(pass.name)));
  }
}

TEST_CASE("pipeline: an observer is told the module after each pass, and whether it changed") {
  ir::Module module = module_of(text);
  std::string seen, last;
  run_pipeline(module, "canonicalize,canonicalize,eliminate-dead-code", {}, {},
               [&](PassInfo const& pass, ir::Module const& now, bool changed) {
                 seen += std::string(pass.name) + (changed ? " changed\n" : " kept\n");
                 CHECK((ir::print(now) != last) == changed);
                 last = ir::print(now);
               });
  CHECK(seen == "canonicalize changed\ncanonicalize kept\neliminate-dead-code kept\n");
  CHECK(last == ir::print(module));
}

TEST_CASE("pipeline: text is read and unknown names are refused with the known ones") {
  support::Diagnostics diagnostics;
  CHECK(parse_pipeline("", diagnostics).empty());
  auto const two = parse_pipeline("canonicalize, eliminate-dead-code", diagnostics);
  REQUIRE(two.size() == 2);
  CHECK(two[1]->name == "eliminate-dead-code");
  CHECK(diagnostics.empty());
  CHECK(parse_pipeline("canonicalise", diagnostics).empty());
  CHECK_THAT(diagnostics[0].text, test::ContainsSubstring("unknown pass \"canonicalise\"; there are specialize, "));
}

TEST_CASE("pipeline: a wrong order is refused and the missing property named", "[B23]") {
  auto module = module_of(
      "tegula-ir 1\nfunction @f() {\n  return\n}\nkernel @k(%n: i64) {\n  call {callee = @f}\n"
      "  for %i = %n to %n step %n {stages = 2} {\n    yield\n  }\n  return\n}\n");
  CHECK_THROWS_WITH(run_pipeline(module, "canonicalize,persistent-grid", for_cuda()),
                    "pipeline: persistent-grid needs whole-kernels, but call of @f in @k; inline-device-functions must "
                    "come before it");
  CHECK_NOTHROW(run_pipeline(module, "inline-device-functions,persistent-grid", for_cuda()));
}

TEST_CASE("pipeline: allocation, reuse and pipelining each name the op that must come before them", "[B23]") {
  std::string const kernel =
      "tegula-ir 1\nkernel @k(%A: in tensor<?xf32> {unit_inner, aligned_16}, %C: out tensor<?xf32>, %n: i64) {\n"
      "  %map = tensor_map %A {box = [128]} : tensor_map<128xf32>\n"
      "  %z = constant {value = 0 : i64} : i64\n"
      "  %o = constant {value = 1 : i64} : i64\n"
      "  for %i = %z to %n step %o {stages = 2} {\n"
      "    %f = fetch %map, %i : shared<128xf32, dense>\n"
      "    %x = buffer_load %f : tile<128xf32>\n"
      "    store %C, %x, %i\n"
      "    yield\n"
      "  }\n"
      "  return\n}\n";
  struct Case {
    char const *order, *refusal;
  };
  for (Case const& one : {
           Case{"circular-buffer",
                "circular-buffer works on level laid-out, but the kernel is on level planned: buffer_load without a "
                "layout"},
           Case{"allocate-shared-memory,assign-layouts",
                "assign-layouts works on level planned, but allocate-shared-memory, which comes before it, leads to "
                "level placed"},
           Case{"assign-layouts,run-ahead,circular-buffer",
                "circular-buffer works on level laid-out, but run-ahead, which comes before it, works on level staged"},
           Case{"assign-layouts,specialize-warps",
                "specialize-warps works on level staged, but the kernel is on level laid-out: fetch in @k; "
                "circular-buffer must come before it"},
           Case{
               "assign-layouts,circular-buffer,insert-barriers",
               "insert-barriers works on level placed, but the kernel is on level staged: circular-buffer comes before "
               "it; allocate-shared-memory must come before it"},
       }) {
    auto module = module_of(kernel);
    INFO(one.order);
    CHECK_THROWS_WITH(run_pipeline(module, one.order, for_cuda()), test::ContainsSubstring(one.refusal));
  }
  auto module = module_of(kernel);
  CHECK_NOTHROW(run_pipeline(module,
                             "assign-layouts,circular-buffer,run-ahead,allocate-shared-memory,insert-barriers,"
                             "insert-proxy-fences",
                             for_cuda()));
}

TEST_CASE("pipeline: a pass that breaks a property is distinguished from a pipeline that never had it") {
  static constexpr PassInfo spoils{.name = "spoils",
                                   .summary = "s",
                                   .function = nothing,
                                   .works_on = all_levels,
                                   .needs = {},
                                   .leaves = {},
                                   .breaks = {Property::whole_kernels}};
  static constexpr PassInfo needs{.name = "needs",
                                  .summary = "s",
                                  .function = nothing,
                                  .works_on = all_levels,
                                  .needs = {Property::whole_kernels},
                                  .leaves = {},
                                  .breaks = {}};
  auto const module = module_of(text);
  PassInfo const* wrong[] = {&spoils, &needs};
  CHECK(why_not_in_this_order(wrong, module) ==
        "pipeline: needs needs whole-kernels, but spoils comes before it; inline-device-functions must come before it");
  PassInfo const* right[] = {&needs, &spoils};
  CHECK(why_not_in_this_order(right, module).empty());
}

TEST_CASE("pipeline: dumps go to numbered files, unchanged ones are noted") {
  Folder folder;
  support::Options environment;
  environment.dump = {{support::DumpItem::Kind::ir_after, "all"}, {support::DumpItem::Kind::ir, ""}};
  environment.dump_dir = folder.path.string();
  auto module = module_of(text);
  run_pipeline(module, "canonicalize,eliminate-dead-code", {}, environment);
  CHECK_THAT(test::read_file((folder.path / "k.tir").string()), test::ContainsSubstring("add %n, %z"));
  CHECK_THAT(test::read_file((folder.path / "k.01-canonicalize.tir").string()), !test::ContainsSubstring("add"));
  CHECK_THAT(test::read_file((folder.path / "k.02-eliminate-dead-code.tir").string()),
             test::ContainsSubstring("(unchanged)"));
}

TEST_CASE("pipeline: an edited dump is read back after its pass, a broken one refused") {
  Folder folder;
  support::Options environment;
  environment.override_dir = folder.path.string();
  std::string edited = text;
  edited.replace(edited.find("tile<4xi64>"), 11, "tile<8xi64>");
  std::ofstream(folder.path / "k.01-canonicalize.tir") << edited;
  auto module = module_of(text);
  run_pipeline(module, "canonicalize", {}, environment);
  CHECK(ir::print(module) == edited);

  std::ofstream(folder.path / "k.01-canonicalize.tir") << "tegula-ir 1\nkernel @k( {}\n";
  CHECK_THROWS_WITH(run_pipeline(module, "canonicalize", {}, environment),
                    "TEGULA_OVERRIDE_DIR: k.01-canonicalize.tir: 2:12: expected a value's name, found '{'");
}

TEST_CASE("pipeline: a failing pass leaves a file that replays it") {
  Folder folder;
  support::Options environment;
  environment.replay_dir = folder.path.string();
  static constexpr PassInfo bad{.name = "bad", .summary = "s", .function = throws, .works_on = all_levels};
  auto module = module_of(text);
  std::string const message =
      error_of(module, {find_pass("canonicalize"), &bad, find_pass("eliminate-dead-code")}, environment);
  CHECK_THAT(message, test::ContainsSubstring("pass bad: index 7 of 3\n  note: tegula_opt --replay "));
  std::string const file = message.substr(message.find("--replay ") + 9);
  std::string const left = test::read_file(file);
  CHECK(read_replay(left).pipeline == "bad,eliminate-dead-code");
  CHECK(ir::parse(left).ok());
  CHECK(left.find("add") == std::string::npos);  // the IR is that before the failing pass
}

TEST_CASE("pipeline: verify-each names the pass that breaks the IR or its promise") {
  Folder folder;
  support::Options environment;
  environment.replay_dir = folder.path.string();
  environment.verify_each = true;
  static constexpr PassInfo bad{.name = "bad", .summary = "s", .function = breaks_ir, .works_on = all_levels};
  auto module = module_of(text);
  CHECK_THAT(error_of(module, {&bad}, environment),
             test::ContainsSubstring("pass bad: verifier: @k: a block must end with return, not store"));
  static constexpr PassInfo liar{.name = "liar",
                                 .summary = "s",
                                 .function = nothing,
                                 .works_on = all_levels,
                                 .needs = {},
                                 .leaves = {Property::layouts},
                                 .breaks = {}};
  auto other = module_of(text);
  CHECK_THAT(error_of(other, {&liar}, environment),
             test::ContainsSubstring("pass liar: it leaves layouts, but there is splat without a layout in @k"));
}

TEST_CASE("pipeline: an error that a pass reports is a user error") {
  static constexpr PassInfo refuses{.name = "refuses", .summary = "s", .function = reports, .works_on = all_levels};
  auto module = module_of(text);
  PassInfo const* list[] = {&refuses};
  CHECK_THROWS_AS(run_pipeline(module, list, {}, support::Options()), UserError);
}

TEST_CASE("pipeline: replay files hold pipeline and options", "[B20]") {
  CompileOptions options = for_cuda();
  options.architecture = "sm_90a";
  options.warps = 8;
  options.stages = 3;
  options.exact = true;
  options.distance = 2;
  options.unroll = 4;
  options.epilogue = Choice::off;
  options.persistence = Choice::on;
  options.specialization = Choice::off;
  std::string const left = replay_text(module_of(text), "a,b", options);
  Replay const replay = read_replay(left);
  CHECK(replay.pipeline == "a,b");
  CHECK(replay.options == options);
  CHECK(ir::equal(ir::parse(left).module, module_of(text)));
  CHECK_THROWS_AS(read_replay(text), UserError);
  CHECK_THROWS_WITH(read_replay("// replay: warps=x\n"), "replay: \"x\" is not a number");
  CHECK_THROWS_WITH(read_replay("// replay: epilogue=yes\n"), "replay: \"yes\" is not one of automatic, off, on");
}
