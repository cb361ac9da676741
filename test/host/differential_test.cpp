// Tests random kernels on the host and in the simulator: the same bits where the ops promise them, else within a bound.
//
// TEGULA_DIFFERENTIAL_KERNELS sets how many kernels of each kind run, TEGULA_DIFFERENTIAL_SEED the first seed; a
// failure prints seed and kernel.
#include <cstdlib>

#include "driver.hpp"
#include "support/random_kernel.hpp"

namespace {

using namespace tegula;
using namespace tegula::test;

std::int64_t environment(char const* name, std::int64_t otherwise) {
  char const* const text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoll(text);
}

/// Makes every second element any bits: subnormal, huge, NaN.
void any_bits(Array& array, std::uint64_t seed) {
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

/// Arrays for the kernel's parameters, filled from the seed, and a check of host against simulator.
void check(RandomKernel const& kernel, std::uint64_t seed) {
  INFO("seed " << seed);
  INFO(kernel.text);
  std::vector<Array> arrays;
  arrays.reserve(kernel.parameters.size());
  HostArguments arguments;
  for (std::size_t i = 0; i < kernel.parameters.size(); ++i) {
    RandomParameter const& parameter = kernel.parameters[i];
    if (!parameter.is_tensor) {
      arguments.emplace_back(parameter.scalar);
      continue;
    }
    arrays.emplace_back(parameter.element, parameter.extents, parameter.gap, parameter.inner);
    if (!parameter.written) arrays.back().randomise(static_cast<unsigned>(seed * 31 + i), 4);
    if (!parameter.written && kernel.tolerance == 0 && seed % 2 == 0) any_bits(arrays.back(), seed * 31 + i);
    arguments.emplace_back(arrays.back());
  }
  check_against_simulator(kernel.text, arguments, kernel.tolerance);
}

TEST_CASE("random elementwise, row and reduction kernels give the simulator's bits", "[host]") {
  std::int64_t const first = environment("TEGULA_DIFFERENTIAL_SEED", 1),
                     count = environment("TEGULA_DIFFERENTIAL_KERNELS", 20);
  for (std::int64_t seed = first; seed < first + count; ++seed)
    check(KernelGenerator(static_cast<std::uint64_t>(seed)).exact(), static_cast<std::uint64_t>(seed));
}

TEST_CASE("random matrix products are near the simulator's", "[host]") {
  std::int64_t const first = environment("TEGULA_DIFFERENTIAL_SEED", 1),
                     count = environment("TEGULA_DIFFERENTIAL_KERNELS", 20);
  for (std::int64_t seed = first; seed < first + count; ++seed)
    check(KernelGenerator(static_cast<std::uint64_t>(seed)).matrix(), static_cast<std::uint64_t>(seed));
}

}  // namespace
