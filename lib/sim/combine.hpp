// Combines two elements as a reduction does, for the tile executor and the warps.
#pragma once

#include <type_traits>

#include "tegula/ir/ops.hpp"
#include "tegula/math/functions.hpp"

namespace tegula::sim {

/// Returns the sum, min, max or product of two elements; sums and products of integers wrap.
template <class T>
T combine(ir::Combine kind, T a, T b) {
  switch (kind) {
    case ir::Combine::max:
      return math::max(a, b);
    case ir::Combine::min:
      return math::min(a, b);
    case ir::Combine::product:
      if constexpr (std::is_floating_point_v<T>)
        return a * b;
      else
        return math::wrapping_mul(a, b);
    case ir::Combine::sum:
      break;
  }
  if constexpr (std::is_floating_point_v<T>)
    return a + b;
  else
    return math::wrapping_add(a, b);
}

}  // namespace tegula::sim
