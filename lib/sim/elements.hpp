// Walks the elements of a strided view.
#pragma once

#include <cstddef>

#include "sim/interpreter.hpp"

namespace tegula::sim {

/// Calls visit(address, coordinates) for every element of a view, in row-major order.
template <class Visit>
void each_element(Tensor const& tensor, Visit&& visit) {
  std::int64_t at[max_rank] = {};
  std::int64_t const count = tensor.extents.product();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t offset = 0;
    for (int axis = 0; axis < tensor.extents.size(); ++axis) offset += at[axis] * tensor.strides[axis];
    visit(static_cast<std::byte*>(tensor.data) + offset * bytes(tensor.element), static_cast<std::int64_t const*>(at));
    for (int axis = tensor.extents.size() - 1; axis >= 0; --axis) {
      if (++at[axis] < tensor.extents[axis]) break;
      at[axis] = 0;
    }
  }
}

/// Prints "[3, 5]".
std::string coordinates_text(std::int64_t const* coordinates, int rank);

}  // namespace tegula::sim
