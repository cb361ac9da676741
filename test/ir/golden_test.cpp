// Compares passes with golden text: a .tir file names the passes to run, and the expected text stands beside its cause.
//
//   // RUN: <pipeline>                     or  // RUN: target=cuda warps=8 <pipeline>
//   // RUN-ERROR: <pipeline>               the pipeline must be refused; CHECK lines then read the message
//
// CTest has one entry per file (TEGULA_GOLDEN_FILE); without it, the case runs every file.
#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <vector>

#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "support/catch.hpp"
#include "support/file_check.hpp"
#include "support/golden.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;

namespace {

struct Run {
  transform::Replay replay;
  bool must_fail = false;
};

/// Returns the text after "<mark>: " up to the end of its line; empty if there is none.
std::string line_after(std::string const& text, std::string const& mark) {
  std::size_t const at = text.find("// " + mark + ": ");
  if (at == std::string::npos) return "";
  std::size_t const begin = at + mark.size() + 5;
  return text.substr(begin, text.find('\n', begin) - begin);
}

Run read_run(std::string const& text) {
  Run run;
  std::string line = line_after(text, "RUN");
  if (line.empty()) {
    line = line_after(text, "RUN-ERROR");
    run.must_fail = true;
  }
  REQUIRE_FALSE(line.empty());
  std::size_t const pipeline = line.rfind(' ') + 1;  // options, if any, stand before it
  run.replay =
      transform::read_replay("// replay: " + line.substr(0, pipeline) + "pipeline=" + line.substr(pipeline) + "\n");
  return run;
}

void check_file(std::string const& path) {
  INFO(path);
  std::string const text = test::read_file(path);
  Run const run = read_run(text);
  auto parsed = ir::parse(text);
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  auto const found = ir::verify(parsed.module);
  INFO(found.str());
  REQUIRE_FALSE(found.has_errors());

  std::string output;
  try {
    transform::run_pipeline(parsed.module, run.replay.pipeline, run.replay.options);
    output = ir::print(parsed.module);
    CHECK_FALSE(run.must_fail);
  } catch (Error const& error) {
    output = error.what();
    CHECK(run.must_fail);
  }
  auto const result = test::file_check(output, text);
  INFO(result.message);
  INFO(output);
  CHECK(result.ok);
  if (run.must_fail) return;

  // A second run of the last passes that still work on this level changes nothing.
  support::Diagnostics unused;
  auto again = transform::parse_pipeline(run.replay.pipeline, unused);
  while (!transform::why_not_in_this_order(again, parsed.module).empty()) again.erase(again.begin());
  transform::run_pipeline(parsed.module, again, run.replay.options);
  CHECK(ir::print(parsed.module) == output);
}

}  // namespace

TEST_CASE("golden file", "[.golden]") {
  if (char const* file = std::getenv("TEGULA_GOLDEN_FILE")) return check_file(file);
  std::vector<std::string> files;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(std::string(TEGULA_TEST_DIR) + "/ir")) {
    std::string const folder = entry.path().parent_path().filename().string();
    if (entry.path().extension() == ".tir" && folder != "roundtrip" && folder != "invalid" && folder != "dsl" &&
        folder != "target")
      files.push_back(entry.path().string());
  }
  std::sort(files.begin(), files.end());
  for (std::string const& file : files) check_file(file);
}
