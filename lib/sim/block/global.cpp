#include "sim/block/global.hpp"

#include <algorithm>

#include "ir/text/text.hpp"
#include "tegula/math/functions.hpp"

namespace tegula::sim::block {

using namespace ir;

GlobalMemory::GlobalMemory(Function const& kernel, Arguments const& arguments, bool preceding)
    : space_of_(arguments.size()), names_(arguments.size()), ranges_(arguments.size()) {
  auto const names = value_names(kernel);
  std::vector<int> order;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    names_[i] = names.at(kernel.parameter(static_cast<int>(i)));
    if (!arguments[i].is_tensor) continue;
    Tensor const& tensor = arguments[i].tensor;
    auto const first = reinterpret_cast<std::uintptr_t>(tensor.data);
    ranges_[i] = {first, first};
    if (tensor.extents.product() != 0) {
      ranges_[i].end += static_cast<std::uintptr_t>(bytes(tensor.element));
      for (int axis = 0; axis < tensor.extents.size(); ++axis) {
        std::int64_t const reach = math::wrapping_mul(
            math::wrapping_mul(tensor.extents[axis] - 1, tensor.strides[axis]), std::int64_t{bytes(tensor.element)});
        (reach < 0 ? ranges_[i].begin : ranges_[i].end) += static_cast<std::uintptr_t>(reach);
      }
    }
    order.push_back(static_cast<int>(i));
  }
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return ranges_[static_cast<std::size_t>(a)].begin < ranges_[static_cast<std::size_t>(b)].begin;
  });
  for (int const number : order) {
    auto const i = static_cast<std::size_t>(number);
    Range const range = ranges_[i];
    if (spaces_.empty() || range.begin >= spaces_.back().end) {
      SpaceOf next;
      // From a multiple of 256 on, so that offsets are aligned like addresses.
      next.base = range.begin & ~std::uintptr_t{255};
      next.end = range.begin;
      next.buffer.initialised = false;
      next.buffer.read_only = true;
      next.buffer.preceding = preceding;
      spaces_.push_back(next);
    }
    SpaceOf& space = spaces_.back();
    space.end = std::max(space.end, range.end);
    space.tensors.push_back(number);
    Direction const direction = kernel.parameter_attributes()[i].direction;
    space.buffer.name += (space.buffer.name.empty() ? "" : " and ") + names_[i];
    space.buffer.initialised |= direction != Direction::out;
    space.buffer.read_only &= direction == Direction::in && !preceding;
    space_of_[i] = spaces_.size() - 1;
  }
  for (SpaceOf& space : spaces_) space.buffer.bytes = space.end - space.base;
}

void GlobalMemory::add_to(machine::Machine& machine) {
  for (SpaceOf& space : spaces_) {
    space.space = machine.add_buffer(space.buffer);
    for (int const tensor : space.tensors) {
      Range const range = ranges_[static_cast<std::size_t>(tensor)];
      machine.name(space.space, range.begin - space.base, range.end - space.base,
                   names_[static_cast<std::size_t>(tensor)]);
    }
  }
}

}  // namespace tegula::sim::block
