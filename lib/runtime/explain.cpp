#include "runtime/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/tensor_map.hpp"
#include "runtime/launch_program.hpp"

namespace tegula::runtime {

void add_arguments(HostPlan& plan, CompiledKernel const& kernel, std::span<Argument const> arguments) {
  for (std::size_t i = 0; i < std::min(arguments.size(), plan.arguments.size()); ++i) {
    for (int axis = 0; axis < arguments[i].rank; ++axis) {
      plan.arguments[i].extents.push_back(arguments[i].extents[axis]);
      plan.arguments[i].strides.push_back(arguments[i].strides[axis]);
    }
  }
  std::vector<cuda::TensorMapRequest> requests;
  for (DescriptorPlan& descriptor : plan.descriptors) {
    requests.push_back(cuda::describe(kernel.name, descriptor.map, kernel.parameters, arguments));
    auto const first = std::find(requests.begin(), requests.end(), requests.back()) - requests.begin();
    if (first + 1 < static_cast<std::ptrdiff_t>(requests.size())) descriptor.equal_to = static_cast<int>(first);
  }
}

namespace {

std::string grid_text(std::int64_t x, std::int64_t y, std::int64_t z, bool given) {
  return fmt::format("  grid: {} x {} x {} blocks{}\n", x, y, z, given ? ", given in the launch" : "");
}

}  // namespace

std::string grid_text(PreparedLaunch const& launch, bool given) {
  return grid_text(launch.grid(0), launch.grid(1), launch.grid(2), given);
}

std::string grid_text(LaunchProgram const& program, std::span<std::int64_t const> values, bool given) {
  auto const extent = [&](std::size_t axis) {
    std::int32_t const step = program.grid[axis];
    return step < 0 ? 1 : values[static_cast<std::size_t>(step)];
  };
  return grid_text(extent(0), extent(1), extent(2), given);
}

std::string requirements_text(LaunchProgram const& program, std::span<std::int64_t const> values) {
  std::string text;
  for (Requirement const& requirement : program.requirements)
    text += fmt::format("  requires: {} [{}]\n", requirement.message, describe(program, values, requirement.condition));
  return text;
}

}  // namespace tegula::runtime
