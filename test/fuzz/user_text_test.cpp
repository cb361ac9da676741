// Tests that changed IR text, incomplete pass lists and outputs of either target end in a result or a clear refusal:
// never in an internal error, and never in a crash.
#include "fuzz/mutated_text.hpp"
#include "support/catch.hpp"
#include "support/options.hpp"

using namespace tegula;
using namespace tegula::fuzz;

TEST_CASE("fuzz: changed texts and pass lists give a result or a refusal") {
  std::vector<ir::Module> const sources = text_sources(std::string(TEGULA_TEST_DIR) + "/ir");
  REQUIRE(sources.size() > 100);
  int outcomes[3] = {};
  for (std::uint64_t seed = 1; seed <= 1500; ++seed) {
    UserText const input = TextMutator(sources, seed).draw();
    INFO("seed " << seed << "\n" << input.str());
    std::string refusal;
    Outcome outcome = Outcome::malformed;
    REQUIRE_NOTHROW(outcome = compile_text(input, &refusal));
    INFO(refusal);
    REQUIRE((outcome != Outcome::refused || !refusal.empty()));
    ++outcomes[static_cast<std::size_t>(outcome)];
  }
  CHECK(outcomes[static_cast<std::size_t>(Outcome::refused)] > 100);
  CHECK(outcomes[static_cast<std::size_t>(Outcome::done)] > 100);
}
