// Runs kernels whose indices and bounds of loops lie anywhere in 64 bits on every executor, and as PTX.
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "codegen/block_machine.hpp"
#include "support/catch.hpp"
#include "support/wide_integer.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using support::Int128;

namespace {

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

/// Lists numbers at which sums and products of indices wrap, and some of the tensor's own.
std::vector<std::int64_t> edges() {
  std::vector<std::int64_t> result = {0, 1, 3, 4, 5, 7, 39, 40, -1, -2, -5, -8, -9, highest, lowest, lowest + 1};
  for (int bit : {31, 32, 52, 53, 58, 59, 60, 61, 62})
    for (std::int64_t const near : {-9, -1, 0, 1, 5, 8})
      for (std::int64_t const sign : {-1, 1}) result.push_back(sign * ((std::int64_t{1} << bit) + near));
  for (std::int64_t const near : {1, 7, 8, 9, 40, 63, 4095, 4096}) {
    result.push_back(highest - near);
    result.push_back(lowest + near);
  }
  return result;
}

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

constexpr std::int64_t extent = 40;

inline constexpr auto store_tile = kernel("store_tile", [](inout<float, 1> x, arg<std::int64_t> at) {
  grid(1);
  store(x, shape<8>, full<float>(shape<8>, 9), at);
});
inline constexpr auto store_from_data = kernel("store_from_data", [](inout<float, 1> x, in<std::int64_t, 1> at) {
  grid(1);
  store(x, shape<8>, full<float>(shape<8>, 9), max(load(at, 0), std::int64_t{-100}));
});
inline constexpr auto store_elements = kernel("store_elements", [](inout<float, 1> x, arg<std::int64_t> at) {
  grid(1);
  store(x, shape<8>, full<float>(shape<8>, 9), elem(at));
});
inline constexpr auto add_tile = kernel("add_tile", [](inout<float, 1> x, arg<std::int64_t> at) {
  grid(1);
  atomic_add(x, shape<8>, full<float>(shape<8>, 9), at);
});
inline constexpr auto load_tile = kernel("load_tile", [](in<float, 1> x, out<float, 1> y, arg<std::int64_t> at) {
  grid(1);
  store(y, shape<8>, load(x, shape<8>, at, pad(-7)), 0);
});
inline constexpr auto masked = kernel("masked", [](out<float, 1> y, arg<std::int64_t> at, arg<std::int64_t> limit) {
  grid(1);
  tile ones = full<float>(shape<4096>, 1);
  store(y, shape<4096>, select(iota(shape<4096>, axis<0>) + at < limit, ones, 0), 0);
});
inline constexpr auto masked_outside =
    kernel("masked_outside", [](out<float, 1> y, arg<std::int64_t> at, arg<std::int64_t> limit) {
      grid(1);
      store(y, shape<4096>, mask_outside(full<float>(shape<4096>, 1), axis<0>, at, limit, 0), 0);
    });
inline constexpr auto counted = kernel(
    "counted", [](out<std::int64_t, 1> y, arg<std::int64_t> lower, arg<std::int64_t> upper, arg<std::int64_t> step) {
      grid(1);
      tile n =
          loop(range(lower, upper, step), zeros<std::int64_t>(shape<8>), [&](auto i, auto sum) { return sum * 3 + i; });
      store(y, shape<8>, n, 0);
    });

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
  constexpr std::int64_t list[][3] = {{0, 10, 3},
                                      {5, 5, 1},
                                      {7, -7, 2},
                                      {highest - 3, highest, 2},
                                      {highest - 1, highest, 1},
                                      {0, highest, highest - 1},
                                      {0, highest, highest},
                                      {90, highest, highest / 2},
                                      {lowest, highest, highest},
                                      {lowest, lowest + 5, 2},
                                      {lowest, lowest, 1},
                                      {highest, lowest, 1},
                                      {-5, lowest, 1},
                                      {lowest, 0, std::int64_t{1} << 62},
                                      {lowest + 1, highest, std::int64_t{1} << 61},
                                      {(std::int64_t{1} << 62) - 1, (std::int64_t{1} << 62) + 6, 3}};
  for (auto const& [lower, upper, step] : list)
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
