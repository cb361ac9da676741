// Loads OpenBLAS at run time, and finds the fastest of its core types that run here.
#pragma once

#include <string>
#include <vector>

namespace tegula::bench {

/// Holds row-major products C = A * B without transposition, on some threads.
struct OpenBlas {
  void (*sgemm)(int, int, int, int, int, int, float, float const*, int, float const*, int, float, float*, int);
  void (*dgemm)(int, int, int, int, int, int, double, double const*, int, double const*, int, double, double*, int);
  void (*set_threads)(int);
  char* (*core_name)();

  template <class T>
  void product(T const* a, T const* b, T* c, int m, int n, int k) const {
    constexpr int row_major = 101, as_it_is = 111;
    if constexpr (sizeof(T) == 8)
      dgemm(row_major, as_it_is, as_it_is, m, n, k, 1, a, k, b, n, 0, c, n);
    else
      sgemm(row_major, as_it_is, as_it_is, m, n, k, 1, a, k, b, n, 0, c, n);
  }
};

/// Returns the library; null if libopenblas.so.0 is not installed. Its core type is OPENBLAS_CORETYPE's at the first
/// call.
OpenBlas const* openblas();
/// Runs a small product with each core type in a process of its own. Prints one line: the rates, and the types that do
/// not run. Returns the fastest; empty if none runs.
std::string fastest_core(std::vector<std::string> const& cores);

}  // namespace tegula::bench
