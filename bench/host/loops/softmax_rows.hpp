// Defines the softmax loop, compiled once in each source that includes it, with that source's flags.
#pragma once

#include <cmath>
#include <cstdint>

namespace tegula::bench {
namespace {

void softmax_rows(float const* __restrict x, float* __restrict y, std::int64_t rows, std::int64_t n,
                  [[maybe_unused]] int threads) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (std::int64_t i = 0; i < rows; ++i) {
    float const* from = x + i * n;
    float* to = y + i * n;
    float largest = from[0];
    for (std::int64_t j = 1; j < n; ++j) largest = from[j] > largest ? from[j] : largest;
    float total = 0;
    for (std::int64_t j = 0; j < n; ++j) total += to[j] = std::exp(from[j] - largest);
    for (std::int64_t j = 0; j < n; ++j) to[j] /= total;
  }
}

}  // namespace
}  // namespace tegula::bench
