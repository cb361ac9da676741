// Declares the rivals of the host kernels that are built here: hand-written OpenMP loops, and Eigen's products. They
// are built with -O3 -fopenmp -ffast-math, with which GCC calls glibc's vectors of expf, multiplies by reciprocals and
// vectorises sums. One copy is for this machine (in a bundle for x86-64-v4), one for AVX2 alone (x86-64-v3).
#pragma once

#include <cstdint>

namespace tegula::bench {

/// Holds the functions of one copy. Matrices are row-major and dense.
struct Loops {
  using Rows = void (*)(float const* x, float* y, std::int64_t rows, std::int64_t n, int threads);

  void (*vadd)(float const* a, float const* b, float* c, std::int64_t n, int threads);
  Rows softmax;    ///< maximum, exponentials and their sum, quotient
  Rows layernorm;  ///< (x - mean) / sqrt(variance + 1e-5)
  Rows rmsnorm;    ///< x / sqrt(mean of squares + 1e-5)
  Rows sums;       ///< y: one sum a row
  Rows maxima;     ///< y: one maximum a row
  Rows row_scans;  ///< y: sums of each row up to each place
  /// y: one sum a column.
  Rows column_sums;
  /// y: sums of each column up to each place.
  Rows column_scans;
  Rows transpose;  ///< y: n x rows, in blocks of 32 x 32
  void (*transpose_16)(std::uint16_t const* x, std::uint16_t* y, std::int64_t rows, std::int64_t n, int threads);
  /// y (rows x n): row places[i] of x.
  void (*gathered_rows)(float const* x, int const* places, float* y, std::int64_t rows, std::int64_t n, int threads);
  void (*gathered)(float const* x, int const* places, float* y, std::int64_t n, int threads);  ///< y[i] = x[places[i]]
  /// C (m x n) = A (m x k) * B (k x n) by Eigen; null: built without Eigen.
  void (*product)(float const* a, float const* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k,
                  int threads);
};

/// True when the loops run on several threads (OpenMP was there at build time).
bool loops_are_parallel();
/// Returns the copy for this machine; for AVX2 where the machine does not run it.
Loops const& native_loops();
Loops const& avx2_loops();

}  // namespace tegula::bench
