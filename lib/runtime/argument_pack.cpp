#include "runtime/argument_pack.hpp"

#include <algorithm>

namespace tegula::runtime {

void ArgumentPack::fill(CompiledKernel const& kernel, std::span<Argument const> arguments,
                        std::int64_t const (&grid)[3], std::int64_t multiprocessors, int device,
                        cuda::TensorMapCache& maps) {
  bool const has_blocks = std::find(grid, grid + 3, 0) == grid + 3;
  if (!kernel.tensor_maps.empty() && has_blocks) fill_maps(kernel, arguments, device, maps);
  std::size_t count = launch_slots;
  for (Argument const& argument : arguments)
    count += argument.kind == ParameterKind::scalar ? 1 : 1 + 2 * static_cast<std::size_t>(argument.rank);
  slots_.clear();
  slots_.reserve(count);
  for (Argument const& argument : arguments) {
    if (argument.kind == ParameterKind::scalar) {
      slots_.push_back(argument.scalar);
      continue;
    }
    slots_.push_back(static_cast<std::int64_t>(reinterpret_cast<std::uintptr_t>(argument.address)));
    for (int axis = 0; axis < argument.rank; ++axis) slots_.push_back(argument.extents[axis]);
    // The stride of an axis of one element is never used; 0 keeps every alignment fact.
    for (int axis = 0; axis < argument.rank; ++axis)
      slots_.push_back(argument.extents[axis] <= 1 ? 0 : argument.strides[axis]);
  }
  for (std::int64_t const extent : grid) slots_.push_back(extent);
  slots_.push_back(multiprocessors);
  parameters_.clear();
  parameters_.reserve(count + maps_.size());
  for (std::int64_t& slot : slots_) parameters_.push_back(&slot);
  for (cuda::TensorMap& map : maps_) parameters_.push_back(&map);
}

void ArgumentPack::fill_maps(CompiledKernel const& kernel, std::span<Argument const> arguments, int device,
                             cuda::TensorMapCache& maps) {
  std::size_t const count = kernel.tensor_maps.size();
  next_requests_.resize(count);
  next_maps_.resize(count);
  for (std::size_t i = 0; i < count; ++i) {
    next_requests_[i] = cuda::describe(kernel.name, kernel.tensor_maps[i], kernel.parameters, arguments);
    if (i < requests_.size() && requests_[i] == next_requests_[i])
      next_maps_[i] = maps_[i];
    else
      maps.get(device, next_requests_[i], next_maps_[i]);
  }
  requests_.swap(next_requests_);
  maps_.swap(next_maps_);
}

}  // namespace tegula::runtime
