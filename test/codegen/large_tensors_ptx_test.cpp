// Runs PTX on tensors of more than 2^31 elements, in memory of which only the pages that a kernel accesses exist.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "codegen/ptx_machine.hpp"
#include "support/catch.hpp"
#include "support/large_memory.hpp"
#include "tegula/tegula.hpp"

using namespace tegula;
using tegula::test::LargeMemory;
using tegula::test::two_31;

namespace {

inline constexpr auto copy_far =
    kernel("copy_far", [](in<float, 1> x, out<float, 1> y, arg<std::int64_t> from, arg<std::int64_t> to) {
      grid(1);
      store(y, shape<256>, load(x, shape<256>, elem(from)) + 1, elem(to));
    });

inline constexpr auto copy_rows = kernel("copy_rows", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<4, 64>);
  store(y, shape<4, 64>, load(x, shape<4, 64>, g[0], g[1]) + 1, g[0], g[1]);
});

inline constexpr auto gathered = kernel("gathered", [](in<float, 1> x, in<std::int64_t, 1> at, inout<float, 1> y) {
  auto g = grid_over(at, shape<128>);
  tile places = load(at, shape<128>, g[0]);
  scatter(y, gather(x, places) + 1, places);
});

/// Compiles for a GPU, with and without the facts of dense and aligned tensors.
template <class K>
CompiledKernel compiled_for_gpu(K const& kernel, std::size_t parameters, bool dense) {
  CompileOptions options;
  options.target = Target::cuda;
  options.facts.assign(parameters, {dense, dense});
  return compile(kernel, options);
}

std::uint64_t slot(void const* address) { return reinterpret_cast<std::uint64_t>(address); }

void run(CompiledKernel const& compiled, test::PtxMachine& machine, std::vector<std::uint64_t> slots) {
  for (int i = 0; i < launch_slots; ++i) slots.push_back(1);
  machine.run_cta(compiled.threads_per_cta, compiled.shared_bytes, slots, {0, 0, 0});
}

}  // namespace

TEST_CASE("PTX loads and stores elements beyond 2^31 at their places", "[N9]") {
  constexpr std::int64_t elements = 2 * two_31 + 1024;
  LargeMemory x_memory(elements * 4), y_memory(elements * 4);
  if (!x_memory || !y_memory) TEGULA_SKIP("the system does not give an address range of 32 GiB");
  auto* const x = x_memory.as<float>();
  auto* const y = y_memory.as<float>();
  for (bool const dense : {true, false}) {
    CompiledKernel const compiled = compiled_for_gpu(copy_far, 4, dense);
    INFO(compiled.image);
    std::int64_t const places[] = {0, two_31 - 128, two_31, two_31 + 1, 2 * two_31 + 64, elements - 10};
    for (std::int64_t const from : places)
      for (std::int64_t const to : places) {
        std::int64_t const count = std::min<std::int64_t>({256, elements - from, elements - to});
        for (std::int64_t i = 0; i < count; ++i) {
          x[from + i] = static_cast<float>(from % 1000 + i);
          y[to + i] = -1;
        }
        test::PtxMachine machine(compiled.image);
        machine.allow(x, elements * 4, false);
        machine.allow(y, elements * 4, true);
        run(compiled, machine,
            {slot(x), elements, 1, slot(y), elements, 1, static_cast<std::uint64_t>(from),
             static_cast<std::uint64_t>(to)});
        for (std::int64_t i = 0; i < count; ++i) REQUIRE(y[to + i] == static_cast<float>(from % 1000 + i + 1));
      }
  }
}

TEST_CASE("PTX finds rows and places that lie more than 2^31 elements apart", "[N9]") {
  constexpr std::int64_t stride = two_31 + 64, rows = 4;
  LargeMemory x_memory(stride * rows * 4), y_memory(stride * rows * 4);
  if (!x_memory || !y_memory) TEGULA_SKIP("the system does not give an address range of 64 GiB");
  auto* const x = x_memory.as<float>();
  auto* const y = y_memory.as<float>();
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t column = 0; column < 64; ++column)
      x[row * stride + column] = static_cast<float>(row * 100 + column);
  for (bool const dense : {true, false}) {
    CompiledKernel const compiled = compiled_for_gpu(copy_rows, 2, dense);
    INFO(compiled.image);
    REQUIRE(compiled.tensor_maps.empty());
    test::PtxMachine machine(compiled.image);
    machine.allow(x, stride * rows * 4, false);
    machine.allow(y, stride * rows * 4, true);
    run(compiled, machine, {slot(x), rows, 64, stride, 1, slot(y), rows, 64, stride, 1});
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t column = 0; column < 64; ++column) {
        REQUIRE(y[row * stride + column] == static_cast<float>(row * 100 + column + 1));
        y[row * stride + column] = -1;
      }
  }
  std::vector<std::int64_t> at;
  constexpr std::int64_t elements = stride * rows;
  for (std::int64_t i = 0; i < 128; ++i) at.push_back(i * (elements / 128) + i % 3);
  for (std::int64_t const place : at) x[place] = static_cast<float>(place % 991);
  CompiledKernel const compiled = compiled_for_gpu(gathered, 3, true);
  test::PtxMachine machine(compiled.image);
  machine.allow(x, elements * 4, false);
  machine.allow(at.data(), 128 * 8, false);
  machine.allow(y, elements * 4, true);
  run(compiled, machine, {slot(x), elements, 1, slot(at.data()), 128, 1, slot(y), elements, 1});
  for (std::int64_t const place : at) CHECK(y[place] == static_cast<float>(place % 991 + 1));
}
