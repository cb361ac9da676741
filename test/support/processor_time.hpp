// Measures processor time: compares that of some work with that of twice as much, or with a limit that grows with the
// slowness of the machine and of the build.
#pragma once

#include <algorithm>
#include <ctime>

namespace tegula::test {

/// Processor seconds of `work()`, the least of some runs.
template <class Work>
double processor_seconds(Work const& work, int runs = 1) {
  double best = 1e9;
  for (int i = 0; i < runs; ++i) {
    std::clock_t const start = std::clock();
    work();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

/// Processor seconds of fixed work of the kind that compilers do: strings, hash tables, small blocks of memory.
double yardstick_seconds();

/// True if `seconds` of processor time, measured just before, are less than `limit`. A limit counts for the preset dev
/// on a machine where the yardstick takes 0.1 s; where it takes longer, so may the work.
bool in_time(double seconds, double limit);

struct Growth {
  double once, twice;  ///< seconds
};

/// `seconds(length)` and `seconds(2 * length)`. Other processes share caches and memory: while the second is not less
/// than `max` times the first, the least of more runs decides, five in all.
template <class Seconds>
Growth growth(Seconds const& seconds, int length, double max) {
  Growth found{seconds(length), seconds(2 * length)};
  for (int i = 0; i < 4 && found.twice >= max * found.once; ++i) {
    found.once = std::min(found.once, seconds(length));
    found.twice = std::min(found.twice, seconds(2 * length));
  }
  return found;
}

}  // namespace tegula::test
