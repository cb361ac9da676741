// Scans one line of elements in sequence, for the tile executor and the warps.
#pragma once

#include <cstdint>

#include "ir/values/combine.hpp"
#include "sim/combine.hpp"
#include "sim/indices.hpp"
#include "sim/meaning.hpp"

namespace tegula::sim {

/// Calls `set(i, result)` for i = 0 to extent - 1, the places of the line in the order of the scan; `get(i)` returns
/// the elements. f16 and bf16 are combined in f32, and each result is rounded once.
template <class Get, class Set>
void scan_line(ir::ScanOp const& attributes, Element element, std::int64_t extent, Get&& get, Set&& set) {
  using T = decltype(get(extent));
  T before = constant_as<T>(ir::scan_start(attributes.combine, element));
  for (std::int64_t i = 0; i < extent; ++i) {
    T const value = get(i);
    T const all = i == 0 && !attributes.exclusive ? value : combine(attributes.combine, before, value);
    T result = attributes.exclusive ? before : all;
    if constexpr (std::is_same_v<T, float>) result = round_to_element(result, element);
    set(i, result);
    before = all;
  }
}

}  // namespace tegula::sim
