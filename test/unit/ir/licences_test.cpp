// Tests that relaxed arithmetic is documented: every licence that an op can name stands in lib/doc/arithmetic.md.
#include <filesystem>
#include <string>

#include "support/catch.hpp"
#include "support/golden.hpp"
#include "tegula/ir/ops.hpp"

using namespace tegula;

TEST_CASE("each licence that an op can name has its row in arithmetic.md", "[L9]") {
  std::string const page = std::string(TEGULA_TEST_DIR) + "/../lib/doc/arithmetic.md";
  if (!std::filesystem::exists(page)) TEGULA_SKIP("there are no sources beside the tests");
  std::string const text = test::read_file(page);
  for (std::string_view const licence : ir::enum_names<ir::Licence>) {
    if (licence == "none") continue;
    INFO(licence);
    CHECK_THAT(text, test::ContainsSubstring("`" + std::string(licence) + "`"));
  }
}
