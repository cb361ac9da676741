// Finds the elements with which reductions and scans begin.
#pragma once

#include "ir/core/op.hpp"

namespace tegula::ir {

/// Returns the element that changes nothing it is combined with, bit for bit: -0 and 1 of floats, NaN for extremes.
Constant neutral(Combine combine, Element element);

/// Returns the first result of an exclusive scan: 0, 1, the lowest or the highest value, infinities included.
Constant scan_start(Combine combine, Element element);

}  // namespace tegula::ir
