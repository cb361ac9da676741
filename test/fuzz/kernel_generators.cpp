#include "fuzz/kernel_generators.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <random>
#include <utility>
#include <vector>

#include "fuzz/pipeline_case.hpp"
#include "fuzz/texts.hpp"
#include "host/driver.hpp"
#include "ir/text/text.hpp"
#include "ir/verify/verifier.hpp"
#include "kernels/random_kernel.hpp"
#include "sim/compare.hpp"
#include "support/host_tensor.hpp"
#include "tegula/support/error.hpp"
#include "transform/pipeline.hpp"

namespace tegula::fuzz {

namespace {

using test::RandomParameter;

std::uint64_t seed_of(std::string const& text) { return std::strtoull(value_of(text, "seed").c_str(), nullptr, 10); }
/// Returns the text of a kernel with the seed of its arguments.
std::string kernel_text(std::uint64_t seed, bool matrix) {
  test::RandomKernel kernel = matrix ? test::KernelGenerator(seed).matrix() : test::KernelGenerator(seed).exact();
  auto parsed = ir::parse("tegula-ir 1\n" + kernel.text);
  if (!parsed.ok()) throw InternalError("the generator: " + parsed.diagnostics.str() + "\n" + kernel.text);
  if (auto const found = ir::verify(parsed.module); !found.empty())
    throw InternalError("the generator: " + found.str() + "\n" + kernel.text);
  return comment("seed", fmt::to_string(seed)) + comment("tolerance", fmt::format("{}", kernel.tolerance)) +
         case_text({std::move(parsed.module), std::move(kernel.parameters), {}, 0});
}
struct KernelInText {
  PipelineCase one;
  std::uint64_t seed;
  double tolerance;

  explicit KernelInText(std::string const& text)
      : one(read_case(text.substr(std::min(text.find("tegula-ir 1"), text.size())))),
        seed(seed_of(text)),
        tolerance(std::strtod(value_of(text, "tolerance").c_str(), nullptr)) {
    support::throw_user_error(ir::verify(one.module), "fuzz");
  }
};

struct Arguments {
  std::vector<test::HostTensor> tensors;
  std::vector<ir::Constant> scalars;  ///< of all parameters

  explicit Arguments(KernelInText const& kernel) : parameters_(kernel.one.parameters) {
    std::mt19937_64 random(kernel.seed);
    for (RandomParameter const& parameter : parameters_) {
      scalars.push_back(parameter.scalar);
      Extents extents;
      for (std::int64_t extent : parameter.extents) extents.push_back(extent);
      tensors.emplace_back(parameter.element, extents, parameter.gap);
      if (!parameter.is_tensor || parameter.written) continue;
      if (kernel.tolerance == 0 && kernel.seed % 2 == 0)
        tensors.back().fill_bits(random);
      else
        tensors.back().fill(random, -4, 4);
    }
  }
  sim::Arguments views() {
    sim::Arguments result;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
      if (parameters_[i].is_tensor)
        result.emplace_back(tensors[i].view());
      else
        result.emplace_back(scalars[i]);
    }
    return result;
  }

 private:
  std::vector<RandomParameter> const& parameters_;
};

}  // namespace

std::string draw_semantics(std::uint64_t seed) {
  // Passes that turn tile ops into tile ops, any number of them in any order.
  std::vector<std::string> const names = {"canonicalize",
                                          "eliminate-common-subexpressions",
                                          "hoist-loop-invariants",
                                          "eliminate-dead-code",
                                          "expand-math",
                                          "inline-functions",
                                          "specialize"};
  std::mt19937_64 random(seed);
  std::string passes;
  for (auto i = 1 + random() % 7; i > 0; --i) passes += (passes.empty() ? "" : ",") + names[random() % names.size()];
  return comment("passes", passes) + kernel_text(seed, seed % 5 == 4);
}
Verdict judge_semantics(std::string const& text) {
  return caught([&]() -> Verdict {
    KernelInText const kernel(text);
    ir::Module module = kernel.one.module.clone();
    Arguments before(kernel), after(kernel);
    auto const outcome = sim::run(module.kernel(), before.views());
    if (!outcome.clean()) return refused("the kernel as written: " + outcome.str());
    transform::run_pipeline(module, value_of(text, "passes"), {});
    if (auto const found = ir::verify(module); !found.empty()) return wrong("verifier: " + found.str());
    auto const kept = sim::run(module.kernel(), after.views());
    if (!kept.clean()) return wrong("after the passes: " + kept.str());
    for (std::size_t i = 0; i < before.tensors.size(); ++i) {
      auto const found = sim::compare(after.tensors[i].view(), before.tensors[i].view());
      if (!found.none()) return wrong(fmt::format("argument {}: {}", i, found.text));
      if (!after.tensors[i].gaps_untouched()) return wrong("elements between the rows of a tensor are written");
    }
    return {};
  });
}

namespace {

/// Makes every second element any bits: subnormal, huge, NaN.
void any_bits(test::Array& array, std::uint64_t seed) {
  if (array.element() == Element::boolean) return;
  std::mt19937_64 random(seed);
  for (std::int64_t i = 0; i < array.count(); i += 2) {
    std::uint64_t const bits = random();
    int const size = tegula::bits(array.element());
    array.set(i, is_integer(array.element())
                     ? ir::make_constant(array.element(), static_cast<std::int64_t>(bits))
                     : ir::Constant{array.element(), size == 64 ? bits : bits & ((std::uint64_t{1} << size) - 1)});
  }
}

}  // namespace

std::string draw_host(std::uint64_t seed) { return kernel_text(seed / 2, seed % 2 == 1); }
Verdict judge_host(std::string const& text) {
  return caught([&]() -> Verdict {
    KernelInText const kernel(text);
    std::uint64_t const seed = kernel.seed;
    std::vector<RandomParameter> const& parameters = kernel.one.parameters;
    std::vector<test::Array> arrays;
    arrays.reserve(parameters.size());
    test::HostArguments arguments;
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      RandomParameter const& parameter = parameters[i];
      if (!parameter.is_tensor) {
        arguments.emplace_back(parameter.scalar);
        continue;
      }
      arrays.emplace_back(parameter.element, parameter.extents, parameter.gap, parameter.inner);
      if (!parameter.written) arrays.back().randomise(static_cast<unsigned>(seed * 31 + i), 4);
      if (!parameter.written && kernel.tolerance == 0 && seed % 2 == 0) any_bits(arrays.back(), seed * 31 + i);
      arguments.emplace_back(arrays.back());
    }
    std::string const found = test::difference_from_simulator(kernel.one.module, arguments, kernel.tolerance);
    return found.empty() ? Verdict() : wrong(found);
  });
}

}  // namespace tegula::fuzz
