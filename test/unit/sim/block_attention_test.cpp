// Tests the hand-written attention kernels of test/ir/target, run by warps.
#include <algorithm>
#include <span>

#include "block_support.hpp"
#include "kernels/simulated.hpp"
#include "support/sanitized.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

constexpr std::string_view wide[] = {"attention", "attention_causal"};
constexpr std::string_view narrow[] = {"attention_d64", "attention_causal_d64"};
using Kernels = std::span<std::string_view const>;

struct Attention {
  Target const* target = nullptr;
  Extents shape;  ///< heads, length
  TargetArguments arguments;

  /// Scores are some times normal ones; with 16, later blocks raise the row maxima by far.
  Attention(std::string_view name, Extents const& heads_and_length, double sharpness) : shape(heads_and_length) {
    for (Target const& row : targets())
      if (row.name == name) target = &row;
    REQUIRE(target != nullptr);
    arguments = target->arguments(shape, 3);
    TargetArgument& q = arguments[0];
    for (std::int64_t i = 0; i < q.extents.product(); ++i) q.set_number(i, q.number(i) * sharpness);
  }

  /// Returns the counter of tiles, which a run that was cut short leaves at any value.
  TargetArgument& next() { return arguments.back(); }
  bool starts_again() { return std::count(next().data.begin(), next().data.end(), std::byte{0}) == 4; }
  void start_again() { std::fill(next().data.begin(), next().data.end(), std::byte{0}); }

  block::Sweep sweep(ir::Module const& module, std::int64_t ctas, std::uint64_t seeds, std::uint32_t max_reports = 16) {
    start_again();
    block::Options options;
    options.grid = sim::Grid{ctas, 1, 1};
    options.max_reports = max_reports;
    return block::Simulation(module.kernel(), simulated(arguments), options).sweep(seeds);
  }
  std::string wrong() { return target_error(*target, shape, arguments); }
};

void check_lengths(Kernels kernels) {
  for (std::string_view const kernel : kernels) {
    auto const module = target(std::string(kernel));
    for (std::int64_t const length : {1, 130, 256, 384})
      for (double const sharpness : {1.0, 16.0}) {
        std::int64_t const ctas = sharpness == 1 && length <= 130 ? 7 : 2;  // 7: more than there are tiles
        Attention attention(kernel, {2, length}, sharpness);
        auto const sweep = attention.sweep(module, ctas, 2);
        INFO(kernel << ", length " << length << ", " << ctas << " CTAs, sharpness " << sharpness << "\n"
                    << sweep.str());
        CHECK(sweep.clean());
        CHECK(attention.wrong() == "");
        CHECK(attention.starts_again());
      }
  }
}

void check_schedules(Kernels kernels) {
  // Three tiles for one CTA; three for two, which take them as they come.
  for (std::string_view const kernel : kernels) {
    auto const module = target(std::string(kernel));
    for (std::int64_t const ctas : {1, 2}) {
      Attention attention(kernel, {1, 300}, 16);
      auto const sweep = attention.sweep(module, ctas, schedules(200));
      INFO(kernel << ", " << ctas << " CTAs\n" << sweep.str());
      CHECK(sweep.runs >= schedules(200));
      CHECK(sweep.clean());
      CHECK(attention.wrong() == "");
      CHECK(attention.starts_again());
    }
  }
}

}  // namespace

TEST_CASE("the hand-written attention is clean and right in the simulator", "[sim][block]") { check_lengths(wide); }
TEST_CASE("the hand-written attention of narrow heads is clean and right in the simulator", "[sim][block]") {
  check_lengths(narrow);
}
TEST_CASE("the hand-written attention is clean under 200 schedules of every kind", "[sim][block]") {
  check_schedules(wide);
}
TEST_CASE("the hand-written attention of narrow heads is clean under 200 schedules of every kind", "[sim][block]") {
  check_schedules(narrow);
}
