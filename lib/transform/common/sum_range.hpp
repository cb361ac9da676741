// Tells which elements leave sums room to grow, for a while, beyond their written value.
#pragma once

#include "tegula/support/element.hpp"

namespace tegula::transform {

/// Tells whether sums may grow by a power of a slack, or be added up in another order: exponents have 8 bits or more.
constexpr bool has_range(Element element) {
  return element == Element::f32 || element == Element::f64 || element == Element::bf16;
}

}  // namespace tegula::transform
