#pragma once
// Shared by the samples: fresh random data, timing, and the one line of output.

#include <tegula/runtime/timer.hpp>
#include <tegula/tegula.hpp>

#include "compare.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace samples {

/// Returns values in [-1, 1), the same at every run.
template <class T>
std::vector<T> random_values(std::int64_t count) {
  static std::mt19937_64 engine(1);
  std::uniform_real_distribution<float> uniform(-1.0F, 1.0F);
  std::vector<T> values(static_cast<std::size_t>(count));
  for (T& value : values) value = static_cast<T>(uniform(engine));
  return values;
}

/// Returns the values exactly.
template <class T>
std::vector<double> exact(std::vector<T> const& values) {
  std::vector<double> result;
  result.reserve(values.size());
  for (T const& value : values) result.push_back(static_cast<double>(value));
  return result;
}

/// Makes a buffer of places that count as never written.
template <class T, int rank, class... Extents>
tegula::buffer<T, rank> poisoned(tegula::device where, Extents... extents) {
  tegula::buffer<T, rank> result(where, extents...);
  result.fill(poison<T>());
  return result;
}

template <class T, int rank, class... Extents>
tegula::buffer<T, rank> filled(tegula::device where, std::vector<T> const& values, Extents... extents) {
  tegula::buffer<T, rank> result(where, extents...);
  result.copy_from(values);
  return result;
}

/// Returns the min seconds of several runs; the first, which may compile, does not count.
template <class Go>
double best_seconds(tegula::stream const& order, Go const& go, int repeats = 10) {
  tegula::timer clock(order);
  go(order);
  double best = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeats; ++i) {
    clock.start();
    go(order);
    clock.stop();
    best = std::min(best, clock.seconds());
  }
  return best;
}

/// Prints "name  what on device: time, rate, error, ok"; returns the exit status.
inline int report(char const* name, std::string const& size, tegula::device where, double seconds, double rate,
                  char const* unit, Comparison const& results) {
  std::printf("%s  %s on %s: %.3f ms, %.1f %s, error %.1e (at most %.1e), %s\n", name, size.c_str(),
              tegula::executor(where).c_str(), seconds * 1e3, rate, unit, results.error(), results.bound(),
              results.right() ? "ok" : ("WRONG: " + results.str()).c_str());
  return results.right() ? 0 : 1;
}

/// Runs a sample's body; an error is one line and status 1.
template <class Body>
int guarded(char const* name, Body const& body) {
  try {
    return body();
  } catch (std::exception const& error) {
    std::printf("%s  failed: %s\n", name, error.what());
    return 1;
  }
}

}  // namespace samples
