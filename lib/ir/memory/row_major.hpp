// Places the elements of a tile one after another, the last axis fastest.
#pragma once

#include "tegula/support/extents.hpp"

namespace tegula::ir {

/// Returns the row-major strides of a shape, in elements, without padding.
inline Extents row_major_strides(Extents const& shape) {
  Extents strides = shape;
  std::int64_t stride = 1;
  for (int axis = shape.size(); axis-- > 0; stride *= shape[axis]) strides[axis] = stride;
  return strides;
}

}  // namespace tegula::ir
