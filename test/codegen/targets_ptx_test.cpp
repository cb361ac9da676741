// The PTX of the hand-written kernels computes what their references say, run by AsyncMachine at borders and at every
// trip count of their rings.
#include <filesystem>

#include "codegen/async_machine.hpp"
#include "compiler/compile.hpp"
#include "ir/builder.hpp"
#include "ir/text.hpp"
#include "sim/interpreter.hpp"
#include "support/catch.hpp"
#include "support/golden.hpp"
#include "support/targets.hpp"
#include "tegula/support/compile_options.hpp"

using namespace tegula;
using namespace tegula::test;

namespace {

std::uint64_t address_of(TargetArgument& argument) {
  auto const address = reinterpret_cast<std::uintptr_t>(argument.data.data());
  return static_cast<std::uint64_t>(address);
}

std::vector<std::int64_t> strides_of(Extents const& extents) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(extents.size()), 1);
  for (int axis = extents.size() - 1; axis > 0; --axis)
    strides[static_cast<std::size_t>(axis - 1)] = strides[static_cast<std::size_t>(axis)] * extents[axis];
  return strides;
}

/// Runs all CTAs one after the other; what went wrong, or nothing.
std::string run(CompiledKernel const& compiled, ir::Function const& kernel, TargetArguments& arguments) {
  std::vector<std::uint64_t> slots;
  sim::Arguments simulated;
  AsyncMachine machine(compiled.image);
  for (TargetArgument& argument : arguments) {
    if (!argument.is_tensor()) {
      slots.push_back(std::bit_cast<std::uint32_t>(static_cast<float>(argument.scalar)));
      simulated.emplace_back(ir::make_constant(argument.element, argument.scalar));
      continue;
    }
    Direction const direction = kernel.parameter_attributes()[simulated.size()].direction;
    machine.allow(argument.data.data(), static_cast<std::int64_t>(argument.data.size()), direction != Direction::in);
    simulated.emplace_back(sim::dense(argument.data.data(), argument.element, argument.extents));
    slots.push_back(address_of(argument));
    for (std::int64_t extent : argument.extents) slots.push_back(static_cast<std::uint64_t>(extent));
    for (std::int64_t stride : strides_of(argument.extents)) slots.push_back(static_cast<std::uint64_t>(stride));
  }
  sim::Grid const grid = sim::launch_grid(kernel, simulated);
  for (std::int64_t extent : grid) slots.push_back(static_cast<std::uint64_t>(extent));
  slots.push_back(static_cast<std::uint64_t>(host_multiprocessors));
  std::vector<AsyncMachine::Map> maps;
  for (TensorMapInfo const& info : compiled.tensor_maps) {
    TargetArgument& argument = arguments[static_cast<std::size_t>(info.parameter)];
    maps.push_back({address_of(argument), bytes(argument.element),
                    std::vector<std::int64_t>(argument.extents.begin(), argument.extents.end()),
                    strides_of(argument.extents), std::vector<std::int64_t>(info.box.begin(), info.box.end()),
                    swizzle_bytes(info.swizzle)});
  }
  machine.set_maps(slots.size(), maps);
  try {
    for (std::int64_t block = 0; block < grid[0] * grid[1] * grid[2]; ++block) {
      machine.start();
      machine.run_cta(compiled.threads_per_cta, compiled.shared_bytes, slots,
                      {static_cast<std::uint64_t>(block), 0, 0});
    }
  } catch (std::runtime_error const& error) {
    return error.what();
  }
  return "";
}

}  // namespace

TEST_CASE("PTX of the hand-written kernels computes their references on the CPU", "[block-ptx]") {
  int kernels = 0;
  for (test::Target const& target : targets()) {
    std::string const file = std::string(TEGULA_TEST_DIR) + "/ir/target/" + std::string(target.name) + ".tir";
    if (!std::filesystem::exists(file)) continue;
    auto const parsed = ir::parse(read_file(file));
    REQUIRE(parsed.ok());
    CompileOptions options;
    options.target = tegula::Target::cuda;
    CompiledKernel const compiled = compiler::compile(parsed.module, options);
    ++kernels;
    for (Extents const& shape : target.small) {
      std::string shown = std::string(target.name);
      for (std::int64_t extent : shape) shown += " " + std::to_string(extent);
      INFO(shown);
      TargetArguments arguments = target.arguments(shape, 3);
      CHECK(run(compiled, parsed.module.kernel(), arguments) == "");
      CHECK(target_trouble(target, shape, arguments) == "");
    }
  }
  CHECK(kernels >= 4);
}
