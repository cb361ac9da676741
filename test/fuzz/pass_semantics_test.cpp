// Runs random kernels through random pipelines. The simulator gives the same bits before and after; running the same
// pipeline again changes nothing it could see. Every second kernel gets numbers of any bits: subnormal, huge, NaN.
//
// TEGULA_FUZZ_KERNELS sets how many kernels run, TEGULA_FUZZ_SEED the first seed; a failure prints seed, pipeline and
// kernel.
#include <cstdlib>

#include "ir/verifier.hpp"
#include "sim/compare.hpp"
#include "support/catch.hpp"
#include "support/host_tensor.hpp"
#include "support/random_kernel.hpp"
#include "transform/pipeline.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

std::int64_t environment(char const* name, std::int64_t otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

/// Passes that turn tile ops into tile ops, any number of them in any order.
std::string random_pipeline(std::mt19937_64& random) {
  std::vector<std::string> const names = {"canonicalize",
                                          "eliminate-common-subexpressions",
                                          "hoist-loop-invariants",
                                          "eliminate-dead-code",
                                          "expand-math",
                                          "inline-functions",
                                          "specialize"};
  std::string text;
  for (auto i = 1 + random() % 7; i > 0; --i) text += (text.empty() ? "" : ",") + names[random() % names.size()];
  return text;
}

struct Arguments {
  std::vector<HostTensor> tensors;
  std::vector<ir::Constant> scalars;  ///< of all parameters

  Arguments(RandomKernel const& kernel, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    for (RandomParameter const& parameter : kernel.parameters) {
      scalars.push_back(parameter.scalar);
      Extents extents;
      for (std::int64_t extent : parameter.extents) extents.push_back(extent);
      tensors.emplace_back(parameter.element, extents, parameter.gap);
      if (!parameter.is_tensor || parameter.written) continue;
      if (kernel.tolerance == 0 && seed % 2 == 0)
        tensors.back().fill_bits(random);
      else
        tensors.back().fill(random, -4, 4);
    }
  }
  sim::Arguments views(RandomKernel const& kernel) {
    sim::Arguments result;
    for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
      if (kernel.parameters[i].is_tensor)
        result.emplace_back(tensors[i].view());
      else
        result.emplace_back(scalars[i]);
    }
    return result;
  }
};

void check(RandomKernel const& kernel, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::string const pipeline = random_pipeline(random);
  INFO("seed " << seed << ", pipeline " << pipeline);
  INFO(kernel.text);
  auto parsed = ir::parse("tegula-ir 1\n" + kernel.text);
  INFO(parsed.diagnostics.str());
  REQUIRE(parsed.ok());
  auto const found = ir::verify(parsed.module);
  INFO(found.str());
  REQUIRE(found.empty());

  Arguments before(kernel, seed), after(kernel, seed);
  auto const outcome = sim::run(parsed.module.kernel(), before.views(kernel));
  INFO(outcome.str());
  REQUIRE(outcome.clean());
  transform::run_pipeline(parsed.module, pipeline, {});
  INFO(ir::print(parsed.module));
  REQUIRE(ir::verify(parsed.module).empty());
  auto const kept = sim::run(parsed.module.kernel(), after.views(kernel));
  INFO(kept.str());
  REQUIRE(kept.clean());
  for (std::size_t i = 0; i < before.tensors.size(); ++i) {
    auto const difference = sim::compare(after.tensors[i].view(), before.tensors[i].view());
    INFO("argument " << i << ": " << difference.text);
    CHECK(difference.none());
    CHECK(after.tensors[i].gaps_untouched());
  }
}

}  // namespace

TEST_CASE("random pipelines keep the results of random kernels", "[fuzz]") {
  std::int64_t const first = environment("TEGULA_FUZZ_SEED", 1), count = environment("TEGULA_FUZZ_KERNELS", 300);
  for (std::int64_t i = first; i < first + count; ++i) {
    auto const seed = static_cast<std::uint64_t>(i);
    check(KernelGenerator(seed).exact(), seed);
    if (seed % 4 == 0) check(KernelGenerator(seed).matrix(), seed);
  }
}
