// Provides ways to spoil a layout, for tests of layouts.
#pragma once

#include <algorithm>
#include <vector>

#include "layout/layout.hpp"

namespace tegula::test {

/// Returns every layout that has one basis vector of this one changed by the next one that is not 0, so that it stays
/// invertible.
inline std::vector<layout::Layout const*> spoiled(layout::Layout const& layout) {
  struct Place {
    std::size_t input, bit;
  };
  std::vector<Place> places;
  for (std::size_t i = 0; i < layout.inputs().size(); ++i)
    for (std::size_t bit = 0; bit < layout.inputs()[i].bases.size(); ++bit) places.push_back({i, bit});
  std::vector<layout::Layout const*> result;
  for (std::size_t n = 0; n < places.size() && places.size() > 1; ++n) {
    std::vector<layout::LayoutInput> inputs(layout.inputs().begin(), layout.inputs().end());
    Extents& changed = inputs[places[n].input].bases[places[n].bit];
    for (std::size_t next = 1; next < places.size(); ++next) {
      Place const other = places[(n + next) % places.size()];
      Extents const by = inputs[other.input].bases[other.bit];
      bool const moves = std::any_of(by.begin(), by.end(), [](std::int64_t value) { return value != 0; });
      if (!moves) continue;
      for (int o = 0; o < changed.size(); ++o) changed[o] ^= by[o];
      break;
    }
    result.push_back(layout::Layout::get(inputs, {layout.outputs().begin(), layout.outputs().end()}));
  }
  return result;
}

}  // namespace tegula::test
