// Tests levels of the IR, and that the order of the default pipelines follows from what passes state.
#include "transform/common/levels.hpp"

#include <algorithm>
#include <filesystem>
#include <sstream>
#include <vector>

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/module.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;
using namespace tegula::transform;

namespace {

constexpr char tiles[] =
    "tegula-ir 1\n\n"
    "kernel @k(%o: out tensor<?xi64>, %n: i64) {\n"
    "  %z = constant {value = 0 : i64} : i64\n"
    "  %t = splat %n : tile<4xi64>\n"
    "  store %o, %t, %z\n"
    "  return\n"
    "}\n";

constexpr char copies[] =
    "kernel @k(%A: in tensor<?xf32> {unit_inner, aligned_16}, %C: out tensor<?xf32>, %n: i64) {\n"
    "  %map = tensor_map %A {box = [128]} : tensor_map<128xf32>\n"
    "  %0 = constant {value = 0 : i64} : i64\n"
    "  %1 = constant {value = 1 : i64} : i64\n"
    "  for %i = %0 to %n step %1 {stages = 2} {\n"
    "    %f = fetch %map, %i : shared<128xf32, dense>\n"
    "    %x = buffer_load %f : tile<128xf32>\n"
    "    store %C, %x, %i\n"
    "    yield\n"
    "  }\n"
    "  return\n}\n";

constexpr char product[] =
    "kernel @k(%C: out tensor<?x?xf32>) {\n"
    "  %0 = constant {value = 0 : i64} : i64\n"
    "  %a = constant {value = 1 : bf16} : tile<16x16xbf16>\n"
    "  %s = constant {value = 0 : f32} : tile<16x16xf32>\n"
    "  %d = dot %a, %a, %s : tile<16x16xf32>\n"
    "  store %C, %d, %0, %0\n"
    "  return\n}\n";

CompileOptions for_cuda() {
  CompileOptions options;
  options.target = Target::cuda;
  return options;
}

ir::Module after(char const* text, std::string const& pipeline) {
  ir::Module module = module_of(text);
  run_pipeline(module, pipeline, for_cuda());
  return module;
}

std::vector<Pipeline> default_pipelines() { return {host_pipeline(), cuda_pipeline(), block_pipeline()}; }

/// Returns a module on which a default pipeline starts.
ir::Module start_of(Pipeline pipeline) {
  return pipeline.data() == block_pipeline().data() ? after(tiles, "assign-layouts") : module_of(tiles);
}

std::string sources() { return std::string(TEGULA_TEST_DIR) + "/../lib/transform"; }

struct Header {
  std::string folder, text;
};

/// Finds the header that declares a pass.
Header header_of(PassInfo const& pass) {
  std::string declaration = "PassResult " + std::string(pass.name) + "(";
  std::replace(declaration.begin(), declaration.end(), '-', '_');
  for (auto const& entry : std::filesystem::recursive_directory_iterator(sources())) {
    if (entry.path().extension() != ".hpp") continue;
    std::string text = read_file(entry.path().string());
    if (text.find(declaration) != std::string::npos && entry.path().filename() != "pass.hpp")
      return {entry.path().parent_path().filename().string(), std::move(text)};
  }
  return {};
}

bool comes_after(PassInfo const& later, PassInfo const& earlier) {
  return std::any_of(later.after.begin(), later.after.end(),
                     [&](After const& after) { return after.pass == earlier.name; });
}

/// Tells whether the rows of two neighbours fix their order.
bool ordered(PassInfo const& a, PassInfo const& b) {
  bool const needs_level = a.leads_to && b.works_on.from >= *a.leads_to;
  bool const leaves_level = b.leads_to && a.works_on.to < *b.leads_to;
  return !b.last.empty() || comes_after(b, a) || needs_level || leaves_level || a.works_on.to < b.works_on.from ||
         a.all_leaves().meets(b.all_needs());
}

/// Tells whether the sentence of a header that begins with "Order:" names a pass.
bool explains(std::string const& header, std::string_view pass) {
  std::istringstream lines(header.substr(std::min(header.find("/// Order:"), header.size())));
  std::string sentence, line;
  while (std::getline(lines, line) && line.starts_with("///")) sentence += line.substr(3);
  std::size_t const at = sentence.find(" " + std::string(pass));
  if (at == std::string::npos) return false;
  char const behind = sentence[at + 1 + pass.size()];
  return behind == ' ' || behind == ',' || behind == '.' || behind == ':';
}

std::ptrdiff_t first_place(Pipeline pipeline, std::string_view name) {
  auto const found =
      std::find_if(pipeline.begin(), pipeline.end(), [&](PassInfo const* pass) { return pass->name == name; });
  return found == pipeline.end() ? -1 : found - pipeline.begin();
}
std::ptrdiff_t last_place(Pipeline pipeline, std::string_view name) {
  std::ptrdiff_t last = -1;
  for (std::size_t i = 0; i < pipeline.size(); ++i)
    if (pipeline[i]->name == name) last = static_cast<std::ptrdiff_t>(i);
  return last;
}

}  // namespace

TEST_CASE("levels: passes lead from each to the next, and the text alone shows where a module is") {
  CHECK(levels_of(module_of(tiles)) == Levels{Level::tile, Level::planned});
  CHECK(levels_of(module_of(product)) == Levels{Level::tile, Level::planned});
  CHECK(levels_of(module_of(copies)) == only(Level::planned));
  CHECK(levels_of(after(copies, "assign-layouts")) == Levels{Level::planned, Level::laid_out});
  CHECK(levels_of(after(copies, "assign-layouts,circular-buffer")) == only(Level::staged));
  CHECK(levels_of(after(copies, "assign-layouts,circular-buffer,allocate-shared-memory")) ==
        Levels{Level::staged, Level::placed});
}

TEST_CASE("levels: each verifier names the op in its way") {
  CHECK(why_not(Level::tile, module_of(tiles)).empty());
  CHECK(why_not(Level::tile, module_of(copies)) == "tensor_map in @k");
  CHECK(why_not(Level::tile, after(tiles, "assign-layouts")).empty());

  CHECK(why_not(Level::planned, module_of(copies)).empty());
  CHECK(why_not(Level::planned, after(copies, "assign-layouts")).empty());  // texts may state layouts
  CHECK(why_not(Level::planned, after(copies, "assign-layouts,circular-buffer")) == "elect in @k");

  CHECK(why_not(Level::laid_out, after(copies, "assign-layouts")).empty());
  CHECK(why_not(Level::laid_out, module_of(product)) == "dot in @k");
  CHECK(why_not(Level::laid_out, module_of(copies)) == "buffer_load without a layout in @k");
  CHECK(why_not(Level::laid_out, after(copies, "assign-layouts,circular-buffer")) == "elect in @k");

  CHECK(why_not(Level::staged, after(copies, "assign-layouts,circular-buffer")).empty());
  CHECK(why_not(Level::staged, after(copies, "assign-layouts")) == "fetch in @k");

  CHECK(why_not(Level::placed, after(copies, "assign-layouts,circular-buffer,allocate-shared-memory")).empty());
  CHECK_THAT(why_not(Level::placed, after(copies, "assign-layouts,circular-buffer")),
             ContainsSubstring("without an offset in @k"));
}

TEST_CASE("levels: a level has the properties of those before it, and is described by name") {
  for (int i = 0; i + 1 < level_count; ++i)
    CHECK((properties_of(static_cast<Level>(i)) - properties_of(static_cast<Level>(i + 1))).bits == 0);
  CHECK(to_string(only(Level::laid_out)) == "laid-out");
  CHECK(to_string(all_levels) == "tile to placed");
  CHECK_THAT(describe_passes(), ContainsSubstring("works on: planned; leads to: laid-out\n    needs: no-dots"));
}

TEST_CASE("levels: a pass stands in the folder of the first level on which it works") {
  if (!std::filesystem::exists(sources())) TEGULA_SKIP("there are no sources beside the tests");
  for (PassInfo const& pass : passes()) {
    INFO(pass.name);
    std::string folder(name(pass.works_on.from));
    std::replace(folder.begin(), folder.end(), '-', '_');
    std::string const found = header_of(pass).folder;
    if (found == "simplify" || found == "profile")
      CHECK(pass.works_on.from == Level::tile);
    else
      CHECK(found == folder);
  }
}

TEST_CASE("levels: verify-each names a pass that leaves another level than it states") {
  static constexpr PassInfo liar{.name = "liar",
                                 .summary = "s",
                                 .function = [](ir::Function&, PassContext&) { return PassResult::unchanged; },
                                 .works_on = all_levels,
                                 .leads_to = Level::staged};
  support::Options environment;
  environment.verify_each = true;
  auto module = after(copies, "assign-layouts");
  PassInfo const* list[] = {&liar};
  CHECK_THROWS_WITH(run_pipeline(module, list, for_cuda(), environment),
                    ContainsSubstring("pass liar: it leaves no-fetches, but there is fetch in @k"));

  static constexpr PassInfo spoils{.name = "spoils",
                                   .summary = "s",
                                   .function =
                                       [](ir::Function& function, PassContext&) {
                                         function.warps = 0;
                                         return PassResult::changed;
                                       },
                                   .works_on = only(Level::laid_out)};
  auto other = after(copies, "assign-layouts");
  PassInfo const* spoiled[] = {&spoils};
  CHECK_THROWS_WITH(run_pipeline(other, spoiled, for_cuda(), environment),
                    ContainsSubstring("pass spoils: it leaves a module on level laid-out, but there is @k without its "
                                      "number of warps"));
}

TEST_CASE("order: default pipelines keep what their passes state") {
  for (Pipeline const pipeline : default_pipelines()) {
    INFO(to_string(pipeline));
    CHECK(why_not_in_this_order(pipeline, start_of(pipeline)).empty());
    Level reached = Level::tile;
    for (PassInfo const* pass : pipeline) {
      INFO(pass->name);
      CHECK(reached <= pass->works_on.to);
      reached = std::max(reached, pass->leads_to.value_or(pass->works_on.from));
      for (After const& after : pass->after) {
        INFO(after.pass);
        std::ptrdiff_t const first = first_place(pipeline, after.pass);
        if (first < 0) continue;
        if (pass->works_everywhere())
          CHECK(last_place(pipeline, pass->name) > last_place(pipeline, after.pass));
        else
          CHECK(first_place(pipeline, pass->name) > first);
      }
    }
  }
}

TEST_CASE("order: rows fix each pair of neighbours, or the header of the later one explains it") {
  if (!std::filesystem::exists(sources())) TEGULA_SKIP("there are no sources beside the tests");
  for (Pipeline const pipeline : default_pipelines())
    for (std::size_t i = 0; i + 1 < pipeline.size(); ++i) {
      INFO(pipeline[i]->name << " before " << pipeline[i + 1]->name);
      CHECK((ordered(*pipeline[i], *pipeline[i + 1]) || explains(header_of(*pipeline[i + 1]).text, pipeline[i]->name)));
    }
}

TEST_CASE("order: an Order sentence names no neighbour whose place the rows fix") {
  if (!std::filesystem::exists(sources())) TEGULA_SKIP("there are no sources beside the tests");
  for (Pipeline const pipeline : default_pipelines())
    for (std::size_t i = 0; i + 1 < pipeline.size(); ++i) {
      INFO(pipeline[i]->name << " before " << pipeline[i + 1]->name);
      if (pipeline[i + 1]->last.empty() && ordered(*pipeline[i], *pipeline[i + 1]))
        CHECK_FALSE(explains(header_of(*pipeline[i + 1]).text, pipeline[i]->name));
    }
}

TEST_CASE("order: neighbours that rows fix are refused the other way round") {
  int refused = 0;
  for (Pipeline const pipeline : default_pipelines()) {
    ir::Module const start = start_of(pipeline);
    for (std::size_t i = 0; i + 1 < pipeline.size(); ++i) {
      PassInfo const &a = *pipeline[i], &b = *pipeline[i + 1];
      if (!ordered(a, b) || a.works_everywhere() || b.works_everywhere()) continue;
      std::vector<PassInfo const*> swapped(pipeline.begin(), pipeline.end());
      std::swap(swapped[i], swapped[i + 1]);
      INFO(a.name << " before " << b.name);
      CHECK_THAT(why_not_in_this_order(swapped, start), ContainsSubstring("pipeline: "));
      ++refused;
    }
  }
  CHECK(refused >= 20);
}

TEST_CASE("order: the refusal names both levels and the pass between them") {
  struct Case {
    char const *text, *order, *refusal;
  };
  for (Case const& one : {
           Case{copies, "circular-buffer",
                "pipeline: circular-buffer works on level laid-out, but the kernel is on level planned: buffer_load "
                "without a layout in @k; assign-layouts must come before it"},
           Case{copies, "assign-layouts,circular-buffer,insert-barriers",
                "pipeline: insert-barriers works on level placed, but the kernel is on level staged: circular-buffer "
                "comes before it; allocate-shared-memory must come before it"},
           Case{copies, "assign-layouts,split-loops",
                "pipeline: split-loops works on level planned, but assign-layouts, which comes before it, leads to "
                "level laid-out; move it ahead of that pass"},
           Case{copies, "pad-tiles",
                "pipeline: pad-tiles works on level tile, but the kernel is on level planned: tensor_map in @k; run it "
                "on the text before the passes that lead there"},
           Case{tiles, "split-loops,skew-dots",
                "pipeline: split-loops comes before skew-dots, but must come after it: each part would"},
       }) {
    INFO(one.order);
    support::Diagnostics unused;
    CHECK_THAT(why_not_in_this_order(parse_pipeline(one.order, unused), module_of(one.text)),
               ContainsSubstring(one.refusal));
  }
}
