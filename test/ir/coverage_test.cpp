// Tests that every pass has golden text.
#include <filesystem>
#include <set>

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;

TEST_CASE("golden: each pass of the table has text input and expected text", "[F47]") {
  std::set<std::string> run;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(std::string(TEGULA_TEST_DIR) + "/ir")) {
    if (entry.path().extension() != ".tir") continue;
    std::string const text = test::read_file(entry.path().string());
    std::size_t const at = text.find("// RUN: ");
    if (at == std::string::npos || text.find("// CHECK") == std::string::npos) continue;
    std::string line = text.substr(at + 8, text.find('\n', at) - at - 8);
    line.erase(0, line.rfind(' ') + 1);
    support::Diagnostics diagnostics;
    for (transform::PassInfo const* pass : transform::parse_pipeline(line, diagnostics))
      run.insert(std::string(pass->name));
    INFO(entry.path().string() << diagnostics.str());
    CHECK(diagnostics.empty());
  }
  for (transform::PassInfo const& pass : transform::passes()) {
    INFO(pass.name);
    CHECK(run.count(std::string(pass.name)) == 1);
  }
}
