// Declares hand-written OpenMP loops, the rivals of the host kernels. They are built with -O3 -march=native -fopenmp,
// fast_math.cpp with -ffast-math as well: there GCC calls glibc's vectors of expf and multiplies by the reciprocal.
#pragma once

#include <cstdint>

namespace tegula::bench {

/// True when the loops run on several threads (OpenMP was there at build time).
bool loops_are_parallel();
void loop_vadd(float const* a, float const* b, float* c, std::int64_t n, int threads);
/// Computes the softmax of rows of n elements: maximum, exponentials and their sum, quotient.
void loop_softmax(float const* x, float* y, std::int64_t rows, std::int64_t n, int threads);
void loop_softmax_fast_math(float const* x, float* y, std::int64_t rows, std::int64_t n, int threads);

}  // namespace tegula::bench
