// Tests random kernels: their text, the passes, the analyses. Each case runs for TEGULA_FUZZ_SECONDS (default 1) from
// the seed TEGULA_FUZZ_SEED (default 1) on, and prints the seed that fails.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <optional>

#include "analysis/axis_facts.hpp"
#include "fuzz/random_ir.hpp"
#include "ir/text.hpp"
#include "ir/verifier.hpp"
#include "support/catch.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::fuzz;

namespace {

double number_from(char const* name, double fallback) {
  char const* const text = std::getenv(name);
  return text == nullptr ? fallback : std::strtod(text, nullptr);
}

/// Calls body(seed) for one seed after another until the time is up; at least `min` of them.
template <class Body>
void for_each_seed(int min, Body body) {
  auto const start = std::chrono::steady_clock::now();
  double const budget = number_from("TEGULA_FUZZ_SECONDS", 1);
  auto const first = static_cast<std::uint64_t>(number_from("TEGULA_FUZZ_SEED", 1));
  std::uint64_t seed = first;
  auto const more = [&] {
    bool const in_time = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() < budget;
    return in_time || seed - first < static_cast<std::uint64_t>(min);
  };
  for (; more(); ++seed) {
    INFO("TEGULA_FUZZ_SEED=" << seed);
    body(seed);
  }
  std::cout << "seeds " << first << " to " << seed - 1 << "\n";
}

std::vector<Memory> simulated(RandomKernel const& kernel, ir::Module const& module) {
  std::vector<Memory> memories = kernel.memories;
  sim::Options options;
  options.check_races = false;  // the order of blocks is fixed here
  sim::run(module.kernel(), kernel.arguments(memories), options);
  return memories;
}

bool same_value(ir::Constant a, ir::Constant b) {
  if (a == b) return true;
  if (!is_float(a.element)) return false;
  double const x = ir::to_double(a), y = ir::to_double(b);
  return x == y || (std::isnan(x) && std::isnan(y));
}

/// Gives the first element that differs, as text.
std::string difference(std::vector<Memory> const& a, std::vector<Memory> const& b) {
  for (std::size_t p = 0; p < a.size(); ++p)
    for (std::int64_t i = 0; i < (a[p].bytes.empty() ? 0 : a[p].extents.product()); ++i)
      if (!same_value(element_at(a[p], i), element_at(b[p], i)))
        return "parameter " + std::to_string(p) + ", element " + std::to_string(i) + ": " +
               ir::to_string(element_at(a[p], i)) + " before, " + ir::to_string(element_at(b[p], i)) + " after";
  return {};
}

std::string random_pipeline(Random& random) {
  static std::vector<std::string> const names = {"canonicalize",
                                                 "canonicalize",
                                                 "eliminate-common-subexpressions",
                                                 "eliminate-dead-code",
                                                 "hoist-loop-invariants",
                                                 "inline-functions",
                                                 "inline-all-functions",
                                                 "specialize",
                                                 "expand-math"};
  std::string text = random.chance(60) ? "canonicalize" : random.pick(names);
  for (int i = random.below(6); i > 0; --i) text += "," + random.pick(names);
  return text;
}

std::string mutated(std::string text, Random& random) {
  static std::vector<std::string> const pieces = {"%",
                                                  "@",
                                                  "{",
                                                  "}",
                                                  "(",
                                                  ")",
                                                  "<",
                                                  ">",
                                                  ":",
                                                  "=",
                                                  ",",
                                                  "tile<",
                                                  "tensor<",
                                                  "4096x",
                                                  "-",
                                                  "0x",
                                                  "loc(\"\":1)",
                                                  "for ",
                                                  "if ",
                                                  "yield",
                                                  "else",
                                                  "carry (",
                                                  "99999999999999999999",
                                                  "nan",
                                                  "inf",
                                                  "\"",
                                                  "\\",
                                                  "[",
                                                  "]",
                                                  "\n",
                                                  "bool",
                                                  "f16",
                                                  "\xff",
                                                  "->"};
  for (int i = 1 + random.below(4); i > 0; --i) {
    auto const at = static_cast<std::size_t>(random.below(static_cast<int>(text.size()) + 1));
    auto const length = static_cast<std::size_t>(random.below(12));
    switch (random.below(5)) {
      case 0:
        text.erase(std::min(at, text.size()), length);
        break;
      case 1:
        text.insert(at, random.pick(pieces));
        break;
      case 2:
        text.insert(at, text.substr(static_cast<std::size_t>(random.below(static_cast<int>(text.size()))), length * 4));
        break;
      case 3:
        if (at < text.size()) text[at] = static_cast<char>(random.below(256));
        break;
      default:
        text.resize(at);
        break;
    }
    if (text.empty()) text = "x";
  }
  return text;
}

}  // namespace

TEST_CASE("fuzz: random kernels are well-formed, and their text reads back") {
  for_each_seed(200, [](std::uint64_t seed) {
    RandomKernel const kernel(seed);
    std::string const text = ir::print(kernel.module);
    INFO(text);
    auto const found = ir::verify(kernel.module);
    INFO(found.str());
    REQUIRE(found.empty());
    auto const parsed = ir::parse(text);
    INFO(parsed.diagnostics.str());
    REQUIRE(parsed.ok());
    REQUIRE(ir::equal(kernel.module, parsed.module));
    REQUIRE(ir::print(parsed.module) == text);
    REQUIRE(ir::equal(kernel.module, kernel.module.clone()));
  });
}

TEST_CASE("fuzz: damaged text is refused with a place, or parses to IR that prints and reads back") {
  int refused = 0, kept = 0;
  for_each_seed(4000, [&](std::uint64_t seed) {
    Random random(seed);
    std::string const text = mutated(ir::print(RandomKernel(seed % 64).module, {random.chance(30)}), random);
    INFO(text);
    auto const parsed = ir::parse(text);
    if (!parsed.ok()) {
      ++refused;
      REQUIRE(parsed.diagnostics.size() == 1);
      REQUIRE(parsed.diagnostics[0].position.line > 0);
      return;
    }
    auto const again = ir::parse(ir::print(parsed.module));
    INFO(again.diagnostics.str());
    REQUIRE(again.ok());
    REQUIRE(ir::equal(parsed.module, again.module));
    if (ir::verify(parsed.module, &parsed.positions).has_errors()) return;
    ++kept;
    ir::Module module = parsed.module.clone();
    support::Options environment;
    environment.verify_each = true;
    try {
      transform::run_pipeline(
          module,
          "inline-functions,canonicalize,eliminate-common-subexpressions,hoist-loop-invariants,eliminate-dead-code", {},
          environment);
    } catch (UserError const&) {
    }
  });
  CHECK(refused > 100);
  CHECK(kept > 5);
}

TEST_CASE("fuzz: random pipelines keep the simulator's result") {
  for_each_seed(100, [](std::uint64_t seed) {
    RandomKernel const kernel(seed);
    Random random(seed);
    std::string const pipeline = random_pipeline(random);
    INFO("passes: " << pipeline << "\n" << ir::print(kernel.module));
    ir::Module module = kernel.module.clone();
    support::Options environment;
    environment.verify_each = true;
    transform::run_pipeline(module, pipeline, {}, environment);
    std::string const after = ir::print(module);
    INFO(after);
    REQUIRE(difference(simulated(kernel, kernel.module), simulated(kernel, module)) == "");
  });
}

TEST_CASE("fuzz: each pass run twice changes nothing") {
  for_each_seed(60, [](std::uint64_t seed) {
    for (char const* pass :
         {"canonicalize", "eliminate-common-subexpressions", "hoist-loop-invariants", "eliminate-dead-code"}) {
      ir::Module module = RandomKernel(seed).module.clone();
      transform::run_pipeline(module, pass, {}, support::Options());
      std::string const once = ir::print(module);
      INFO(pass << "\n" << once);
      transform::run_pipeline(module, pass, {}, support::Options());
      REQUIRE(ir::print(module) == once);
    }
  });
}

namespace {

/// Explains why the values of a probe contradict its facts; empty if they do not.
std::string contradiction(analysis::ValueFacts const& facts, Memory const& memory) {
  std::int64_t const count = memory.extents.product();
  auto const value = [&](std::int64_t i) { return static_cast<std::int64_t>(element_at(memory, i).bits); };
  for (std::int64_t i = 0; i < count; ++i)
    if (value(i) < facts.min || value(i) > facts.max)
      return "element " + std::to_string(i) + " is " + std::to_string(value(i)) + ", out of range";
  auto const next = [&](std::int64_t of) {
    return wrapped(memory.element, static_cast<std::int64_t>(static_cast<std::uint64_t>(of) + 1U));
  };
  std::int64_t stride = count;
  for (int axis = 0; axis < memory.extents.size(); ++axis) {
    stride /= memory.extents[axis];
    analysis::AxisFact const& fact = facts.axes[static_cast<std::size_t>(axis)];
    for (std::int64_t i = 0; i < count; ++i) {
      std::int64_t const at = i / stride % memory.extents[axis];
      std::string const where =
          "axis " + std::to_string(axis) + ", element " + std::to_string(i) + " is " + std::to_string(value(i));
      if (at % fact.contiguity == 0) {
        bool const divides = fact.divisibility == 0 ? value(i) == 0 : value(i) % fact.divisibility == 0;
        if (!divides) return where + ", not a multiple of " + std::to_string(fact.divisibility);
      } else if (value(i) != next(value(i - stride))) {
        return where + " after " + std::to_string(value(i - stride));
      }
      if (at % fact.constancy != 0 && value(i) != value(i - stride))
        return where + " after " + std::to_string(value(i - stride)) + ", not constant";
    }
  }
  return {};
}

}  // namespace

TEST_CASE("fuzz: axis facts hold for the values of the simulator") {
  int informative = 0;
  for_each_seed(100, [&](std::uint64_t seed) {
    RandomKernel const kernel(seed, Draw::probes);
    INFO(ir::print(kernel.module));
    REQUIRE(ir::verify(kernel.module).str() == "");
    analysis::AxisFacts const facts(kernel.module);
    auto const memories = simulated(kernel, kernel.module);
    for (RandomKernel::Probe const& probe : kernel.probes) {
      auto const known = facts.facts(*probe.value);
      INFO(facts.str(kernel.module.kernel()));
      INFO("probe " << probe.parameter);
      REQUIRE(contradiction(known, memories[static_cast<std::size_t>(probe.parameter)]) == "");
      for (analysis::AxisFact const& fact : known.axes)
        informative += fact.contiguity > 1 || fact.constancy > 1 || fact.divisibility != 1 ? 1 : 0;
    }
  });
  CHECK(informative > 200);
}
