// Tests fixed draws of the generators of random IR: its text, the passes, the analyses. ./dev fuzz draws others.
#include "fuzz/generators.hpp"
#include "support/catch.hpp"

using namespace tegula::fuzz;

namespace {

struct Count {
  int right = 0, refused = 0, informative = 0;
};

/// Judges the first draws of a generator.
Count check_draws(char const* name, std::uint64_t draws) {
  Generator const& generator = generator_named(name);
  Count count;
  for (std::uint64_t seed = 1; seed <= draws; ++seed) {
    std::string const text = generator.draw(seed);
    Verdict const found = generator.judge(text);
    INFO("seed " << seed << "\n" << text << found.reason);
    REQUIRE(!found.wrong());
    count.right += found.kind == Verdict::Kind::right ? 1 : 0;
    count.refused += found.kind == Verdict::Kind::refused ? 1 : 0;
    count.informative += found.informative;
  }
  return count;
}

}  // namespace

TEST_CASE("fuzz: random kernels are well-formed, and their text reads back") {
  CHECK(check_draws("text", 1000).right == 1000);
}

TEST_CASE("fuzz: damaged text is refused with a place, or parses to IR that prints and reads back") {
  Count const count = check_draws("damaged-text", 4000);
  CHECK(count.refused > 100);
  CHECK(count.right > 5);
}

TEST_CASE("fuzz: random pipelines keep the simulator's result") { CHECK(check_draws("passes", 300).right == 300); }

TEST_CASE("fuzz: each pass run twice changes nothing") { CHECK(check_draws("twice", 300).right == 300); }

TEST_CASE("fuzz: axis facts hold for the values of the simulator") {
  Count const count = check_draws("axis-facts", 300);
  CHECK(count.right == 300);
  CHECK(count.informative > 600);
}

TEST_CASE("random pipelines keep the results of random kernels", "[fuzz]") {
  CHECK(check_draws("semantics", 375).right == 375);
}

TEST_CASE("products of drawn extents: what runs unaligned runs aligned, with any number of warps", "[B1]") {
  CHECK(check_draws("fitting", 12).right > 0);
}

TEST_CASE("fuzz: host, simulated warps and PTX give the interpreter's integers") {
  CHECK(check_draws("executors", 40).right > 30);
}

TEST_CASE("fuzz: changed texts and pass lists give a result or a refusal") {
  Count const count = check_draws("user-text", 1500);
  CHECK(count.refused > 100);
  CHECK(count.right > 100);
}
