#include "host/loops/loops.hpp"

#include "host/loops/softmax_rows.hpp"

namespace tegula::bench {

#ifdef _OPENMP
bool loops_are_parallel() { return true; }
#else
bool loops_are_parallel() { return false; }
#endif

void loop_vadd(float const* __restrict a, float const* __restrict b, float* __restrict c, std::int64_t n,
               [[maybe_unused]] int threads) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

void loop_softmax(float const* __restrict x, float* __restrict y, std::int64_t rows, std::int64_t n, int threads) {
  softmax_rows(x, y, rows, n, threads);
}

}  // namespace tegula::bench
