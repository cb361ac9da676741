// Runs kernels whose indices and bounds of loops lie anywhere in 64 bits on every executor, and as PTX.
#include <cstdint>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "codegen/block_machine.hpp"
#include "support/catch.hpp"
#include "kernels/far_kernels.hpp"
#include "support/wide_integer.hpp"

using namespace tegula;
using namespace tegula::test::far;
using support::Int128;

namespace {

enum class Executor : std::uint8_t { host, debug, tiles, warps, ptx };
constexpr Executor executors[] = {Executor::host, Executor::debug, Executor::tiles, Executor::warps, Executor::ptx};
constexpr char const* names[] = {"host", "debug", "simulator of tiles", "simulator of warps", "PTX"};

struct Slots {
  std::vector<std::uint64_t> list;
  test::BlockMachine* machine;
  template <class Vector>
  requires requires(Vector& x) { x.data(); }
  void add(Vector& x) {
    list.insert(list.end(), {reinterpret_cast<std::uint64_t>(x.data()), x.size(), 1});
    machine->allow(x.data(), static_cast<std::int64_t>(x.size() * sizeof(x[0])), !std::is_const_v<Vector>);
  }
  void add(std::int64_t x) { list.push_back(static_cast<std::uint64_t>(x)); }
};

/// Compiles a kernel for sm_90a once.
template <class K>
CompiledKernel compiled_for_gpu(K const& kernel) {
  CompileOptions options;
  options.target = Target::cuda;
  options.architecture = "sm_90a";
  options.facts.resize(kernel.trace().parameters().size());  // none
  return compile(kernel, options);
}

/// Runs a kernel of one-dimensional tensors and i64 numbers in a grid of one block.
template <class K, class... Arguments>
void run_on(Executor executor, CompiledKernel const& compiled, K const& kernel, Arguments&... arguments) {
  switch (executor) {
    case Executor::host:
      return launch(host_stream(), kernel, arguments...);
    case Executor::debug:
      return static_cast<void>(debug(kernel, arguments...));
    case Executor::tiles:
      return static_cast<void>(simulate(kernel, arguments...));
    case Executor::warps:
      return static_cast<void>(simulate(kernel, arguments..., schedule::seed(1)));
    case Executor::ptx: {
      test::BlockMachine machine(compiled.image);
      Slots slots{{}, &machine};
      (slots.add(arguments), ...);
      for (int i = 0; i < launch_slots; ++i) slots.add(1);
      machine.run_cta(compiled.threads_per_cta, compiled.shared_bytes, slots.list, {0, 0, 0});
    }
  }
}

/// Compares a kernel that changes or gives tiles of 8 with places that are computed exactly.
template <class K>
void check_stores(K const& kernel, std::int64_t step, bool adds) {
  CompiledKernel const compiled = compiled_for_gpu(kernel);
  for (std::int64_t at : edges())
    for (Executor const executor : executors) {
      if (adds && executor == Executor::ptx) continue;  // the machine has no atomics
      std::vector<float> x(extent, 1), expected(extent, 1);
      run_on(executor, compiled, kernel, x, at);
      for (int i = 0; i < 8; ++i) {
        Int128 const place = Int128(at) * step + i;
        if (place >= 0 && place < extent) expected[static_cast<std::size_t>(place)] = adds ? 10 : 9;
      }
      INFO(names[static_cast<int>(executor)] << ", index " << at);
      REQUIRE(x == expected);
    }
}

}  // namespace

TEST_CASE("a tile far outside of its tensor is not stored, whatever its number", "[N9]") {
  check_stores(store_tile, 8, false);
  check_stores(store_elements, 1, false);
  check_stores(add_tile, 8, true);
}

TEST_CASE("a tile whose number comes from data, cut off below, is stored where it lies", "[N9]") {
  CompiledKernel const compiled = compiled_for_gpu(store_from_data);
  for (std::int64_t const at : edges())
    for (Executor const executor : executors) {
      std::vector<float> x(extent, 1), expected(extent, 1);
      std::vector<std::int64_t> const places = {at};
      run_on(executor, compiled, store_from_data, x, places);
      for (int i = 0; i < 8; ++i) {
        Int128 const place = Int128(std::max<std::int64_t>(at, -100)) * 8 + i;
        if (place >= 0 && place < extent) expected[static_cast<std::size_t>(place)] = 9;
      }
      INFO(names[static_cast<int>(executor)] << ", index " << at);
      REQUIRE(x == expected);
    }
}

TEST_CASE("a tile far outside of its tensor is loaded as pad, whatever its number", "[N9]") {
  CompiledKernel const compiled = compiled_for_gpu(load_tile);
  std::vector<float> const x = [] {
    std::vector<float> all(extent);
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i);
    return all;
  }();
  for (std::int64_t at : edges())
    for (Executor const executor : executors) {
      std::vector<float> y(8, 0);
      run_on(executor, compiled, load_tile, x, y, at);
      for (int i = 0; i < 8; ++i) {
        Int128 const place = Int128(at) * 8 + i;
        INFO(names[static_cast<int>(executor)] << ", index " << at << ", element " << i);
        REQUIRE(y[static_cast<std::size_t>(i)] ==
                (place >= 0 && place < extent ? static_cast<float>(static_cast<std::int64_t>(place)) : -7));
      }
    }
}

TEST_CASE("comparisons of coordinates that wrap are the same on every executor", "[N9]") {
  CompiledKernel const compiled = compiled_for_gpu(masked), outside = compiled_for_gpu(masked_outside);
  std::vector<std::int64_t> const numbers = edges();
  std::mt19937_64 random(11);
  for (int i = 0; i < 60; ++i) {
    std::int64_t at = numbers[random() % numbers.size()];
    // Half of the limits are near the coordinates.
    std::int64_t limit = i % 2 == 0 ? numbers[random() % numbers.size()]
                                    : static_cast<std::int64_t>(static_cast<std::uint64_t>(at) + random() % 5000);
    for (Executor const executor : executors) {
      INFO(names[static_cast<int>(executor)] << ", " << at << " against " << limit);
      std::vector<float> y(4096, 5);
      run_on(executor, compiled, masked, y, at, limit);
      std::size_t wrong = 0;
      for (std::uint64_t c = 0; c < 4096; ++c)
        wrong += y[c] != (static_cast<std::int64_t>(c + static_cast<std::uint64_t>(at)) < limit ? 1 : 0);
      REQUIRE(wrong == 0);
      run_on(executor, outside, masked_outside, y, at, limit);
      for (int c = 0; c < 4096; ++c) {
        // A tile far outside begins 2^61 elements away, or nearly so.
        Int128 const place = Int128(at) * 4096, far = Int128{1} << 60;
        if (place > far || place < -far) continue;
        wrong += y[static_cast<std::size_t>(c)] != (place + c < limit ? 1 : 0);
      }
      REQUIRE(wrong == 0);
    }
  }
}

TEST_CASE("loops end where their counter would pass the ends of 64 bits", "[N9]") {
  CompiledKernel const compiled = compiled_for_gpu(counted);
  for (auto const& [lower, upper, step] : loops)
    for (Executor const executor : executors) {
      std::uint64_t expected = 0;
      for (Int128 i = lower; i < upper; i += step)
        expected = expected * 3 + static_cast<std::uint64_t>(static_cast<std::int64_t>(i));
      std::vector<std::int64_t> y(8, -1);
      std::int64_t from = lower, to = upper, by = step;
      run_on(executor, compiled, counted, y, from, to, by);
      INFO(names[static_cast<int>(executor)] << ", from " << lower << " to " << upper << " by " << step);
      for (std::int64_t const number : y) REQUIRE(number == static_cast<std::int64_t>(expected));
    }
}
