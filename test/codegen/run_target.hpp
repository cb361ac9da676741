// Runs a kernel of block ops from its PTX, with the arguments of kernels/targets.hpp as the launcher packs them.
#pragma once

#include "codegen/async_machine.hpp"
#include "ir/core/builder.hpp"
#include "sim/interpreter.hpp"
#include "kernels/targets.hpp"
#include "tegula/abi/compiled_kernel.hpp"

namespace tegula::test {

inline std::uint64_t address_of(TargetArgument& argument) {
  auto const address = reinterpret_cast<std::uintptr_t>(argument.data.data());
  return static_cast<std::uint64_t>(address);
}

inline std::vector<std::int64_t> strides_of(Extents const& extents) {
  std::vector<std::int64_t> strides(static_cast<std::size_t>(extents.size()), 1);
  for (int axis = extents.size() - 1; axis > 0; --axis)
    strides[static_cast<std::size_t>(axis - 1)] = strides[static_cast<std::size_t>(axis)] * extents[axis];
  return strides;
}

/// Runs all CTAs one after the other on the machine of the kernel's PTX. Returns the error, or nothing.
inline std::string run_target(AsyncMachine& machine, CompiledKernel const& compiled, ir::Function const& kernel,
                              TargetArguments& arguments) {
  std::vector<std::uint64_t> slots;
  sim::Arguments simulated;
  for (TargetArgument& argument : arguments) {
    if (!argument.is_tensor()) {
      slots.push_back(argument.element == Element::f32
                          ? std::bit_cast<std::uint32_t>(static_cast<float>(argument.scalar))
                          : static_cast<std::uint64_t>(static_cast<std::int64_t>(argument.scalar)));
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

}  // namespace tegula::test
