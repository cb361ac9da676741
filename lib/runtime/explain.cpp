#include "runtime/explain.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/cuda/tensor_map.hpp"

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

std::string grid_text(PreparedLaunch const& launch, bool given) {
  return fmt::format("  grid: {} x {} x {} blocks{}\n", launch.grid(0), launch.grid(1), launch.grid(2),
                     given ? ", given in the launch" : "");
}

}  // namespace tegula::runtime
