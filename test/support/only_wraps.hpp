// Excuses the one report of the simulator that says nothing against a pass.
#pragma once

#include <algorithm>

#include "sim/interpreter.hpp"

namespace tegula::test {

/// Tells whether all that was reported are scalars of i64 that wrap; also if nothing was reported. Arithmetic on tiles
/// of i64 may wrap. Passes make scalar arithmetic of it where all elements are equal. The simulator reports scalars
/// that wrap, since it takes them for indices. Then the values decide.
inline bool only_wraps(sim::Result const& result) {
  return std::all_of(result.reports.begin(), result.reports.end(),
                     [](sim::Report const& report) { return report.kind == sim::ReportKind::index_overflow; });
}

}  // namespace tegula::test
