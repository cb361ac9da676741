#pragma once
// Runs the solutions of a lesson's exercises. Each returns a comparison with a plain loop; a wrong one is exit
// status 1.

#include "support/report.hpp"

#include <initializer_list>

namespace exercises {

using samples::compare, samples::Comparison, samples::exact, samples::filled, samples::poisoned, samples::random_values;

/// Copies a buffer to the host.
template <class T, int rank>
std::vector<T> read(tegula::buffer<T, rank> const& from) {
  std::vector<T> result(static_cast<std::size_t>(from.size()));
  from.copy_to(result);
  return result;
}

/// Compares single numbers: what was predicted, and what was found.
inline Comparison equal(std::vector<double> const& found, std::vector<double> const& expected) {
  return compare(found, expected, 0, 0);
}

inline int run(std::initializer_list<Comparison (*)()> solutions) {
  int number = 0, status = 0;
  for (auto const solution : solutions) {
    ++number;
    try {
      Comparison const found = solution();
      std::printf("exercise %d: %s\n", number, found.str().c_str());
      if (!found.right()) status = 1;
    } catch (std::exception const& error) {
      std::printf("exercise %d: failed: %s\n", number, error.what());
      status = 1;
    }
  }
  return status;
}

}  // namespace exercises
