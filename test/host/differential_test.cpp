// Tests fixed random kernels on the host and in the simulator: the same bits where the ops promise them, else within a
// bound. ./dev fuzz draws others.
#include "fuzz/generators.hpp"
#include "support/catch.hpp"

using namespace tegula::fuzz;

namespace {

/// Judges 20 seeds, two apart.
void check_seeds(std::uint64_t first) {
  Generator const& host = generator_named("host");
  for (std::uint64_t seed = first; seed < first + 40; seed += 2) {
    std::string const text = host.draw(seed);
    Verdict const found = host.judge(text);
    INFO("seed " << seed << "\n" << text << found.reason);
    CHECK(found.kind == Verdict::Kind::right);
  }
}

}  // namespace

TEST_CASE("random elementwise, row and reduction kernels give the simulator's bits", "[host]") { check_seeds(2); }

TEST_CASE("random matrix products are near the simulator's", "[host]") { check_seeds(3); }
