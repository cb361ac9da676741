// Defines loops. Compiled twice, with other flags: TEGULA_LOOPS names the function that returns this copy.
#include "host/loops/loops.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>

#ifdef TEGULA_HAS_EIGEN
// Eigen's functions are inline: those of the two copies must not be merged.
#define Eigen TEGULA_EIGEN
#include <Eigen/Core>
#endif

namespace tegula::bench {
namespace {

void vadd(float const* __restrict a, float const* __restrict b, float* __restrict c, std::int64_t n,
          [[maybe_unused]] int threads) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (std::int64_t i = 0; i < n; ++i) c[i] = a[i] + b[i];
}

/// Calls row(from, to) for each row.
template <class Row>
void each_row(float const* x, float* y, std::int64_t rows, std::int64_t n, std::int64_t results,
              [[maybe_unused]] int threads, Row const& row) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (std::int64_t i = 0; i < rows; ++i) row(x + i * n, y + i * results);
}

void softmax(float const* x, float* y, std::int64_t rows, std::int64_t n, int threads) {
  each_row(x, y, rows, n, n, threads, [n](float const* __restrict from, float* __restrict to) {
    float largest = from[0];
    for (std::int64_t j = 1; j < n; ++j) largest = from[j] > largest ? from[j] : largest;
    float total = 0;
    for (std::int64_t j = 0; j < n; ++j) total += to[j] = std::exp(from[j] - largest);
    for (std::int64_t j = 0; j < n; ++j) to[j] /= total;
  });
}

void layernorm(float const* x, float* y, std::int64_t rows, std::int64_t n, int threads) {
  each_row(x, y, rows, n, n, threads, [n](float const* __restrict from, float* __restrict to) {
    float total = 0, squares = 0;
    for (std::int64_t j = 0; j < n; ++j) total += from[j];
    float const mean = total / static_cast<float>(n);
    for (std::int64_t j = 0; j < n; ++j) squares += (from[j] - mean) * (from[j] - mean);
    float const scale = 1 / std::sqrt(squares / static_cast<float>(n) + 1e-5F);
    for (std::int64_t j = 0; j < n; ++j) to[j] = (from[j] - mean) * scale;
  });
}

void rmsnorm(float const* x, float* y, std::int64_t rows, std::int64_t n, int threads) {
  each_row(x, y, rows, n, n, threads, [n](float const* __restrict from, float* __restrict to) {
    float squares = 0;
    for (std::int64_t j = 0; j < n; ++j) squares += from[j] * from[j];
    float const scale = 1 / std::sqrt(squares / static_cast<float>(n) + 1e-5F);
    for (std::int64_t j = 0; j < n; ++j) to[j] = from[j] * scale;
  });
}

void sums(float const* x, float* y, std::int64_t rows, std::int64_t n, int threads) {
  each_row(x, y, rows, n, 1, threads, [n](float const* __restrict from, float* __restrict to) {
    float total = 0;
    for (std::int64_t j = 0; j < n; ++j) total += from[j];
    *to = total;
  });
}

void maxima(float const* x, float* y, std::int64_t rows, std::int64_t n, int threads) {
  each_row(x, y, rows, n, 1, threads, [n](float const* __restrict from, float* __restrict to) {
    float largest = from[0];
    for (std::int64_t j = 1; j < n; ++j) largest = from[j] > largest ? from[j] : largest;
    *to = largest;
  });
}

void row_scans(float const* x, float* y, std::int64_t rows, std::int64_t n, int threads) {
  each_row(x, y, rows, n, n, threads, [n](float const* __restrict from, float* __restrict to) {
    float total = 0;
    for (std::int64_t j = 0; j < n; ++j) to[j] = total += from[j];
  });
}

/// Calls part(first, last) for parts of n columns, one for each thread, which begin at multiples of a cache line.
template <class Part>
void each_part(std::int64_t n, [[maybe_unused]] int threads, Part const& part) {
  std::int64_t const width = (n + threads - 1) / threads + 15 & ~std::int64_t{15};
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (int i = 0; i < threads; ++i) part(std::min(n, i * width), std::min(n, (i + 1) * width));
}

void column_sums(float const* __restrict x, float* __restrict y, std::int64_t rows, std::int64_t n, int threads) {
  each_part(n, threads, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t j = first; j < last; ++j) y[j] = 0;
    for (std::int64_t i = 0; i < rows; ++i)
      for (std::int64_t j = first; j < last; ++j) y[j] += x[i * n + j];
  });
}

void column_scans(float const* __restrict x, float* __restrict y, std::int64_t rows, std::int64_t n, int threads) {
  each_part(n, threads, [=](std::int64_t first, std::int64_t last) {
    for (std::int64_t j = first; j < last; ++j) y[j] = x[j];
    for (std::int64_t i = 1; i < rows; ++i)
      for (std::int64_t j = first; j < last; ++j) y[i * n + j] = y[(i - 1) * n + j] + x[i * n + j];
  });
}

template <class T>
void transpose(T const* __restrict x, T* __restrict y, std::int64_t rows, std::int64_t n,
               [[maybe_unused]] int threads) {
  constexpr std::int64_t block = 32;
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (std::int64_t i = 0; i < rows; i += block)
    for (std::int64_t j = 0; j < n; j += block)
      for (std::int64_t c = j; c < std::min(j + block, n); ++c)
        for (std::int64_t r = i; r < std::min(i + block, rows); ++r) y[c * rows + r] = x[r * n + c];
}

void gathered_rows(float const* __restrict x, int const* __restrict places, float* __restrict y, std::int64_t rows,
                   std::int64_t n, [[maybe_unused]] int threads) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < n; ++j) y[i * n + j] = x[places[i] * n + j];
}

void gathered(float const* __restrict x, int const* __restrict places, float* __restrict y, std::int64_t n,
              [[maybe_unused]] int threads) {
#ifdef _OPENMP
#pragma omp parallel for num_threads(threads)
#endif
  for (std::int64_t i = 0; i < n; ++i) y[i] = x[places[i]];
}

#ifdef TEGULA_HAS_EIGEN
void product(float const* a, float const* b, float* c, std::int64_t m, std::int64_t n, std::int64_t k, int threads) {
  using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  Eigen::setNbThreads(threads);
  Eigen::Map<Matrix> result(c, m, n);
  result.noalias() = Eigen::Map<Matrix const>(a, m, k) * Eigen::Map<Matrix const>(b, k, n);
}
#else
constexpr decltype(Loops::product) product = nullptr;
#endif

}  // namespace

Loops const& TEGULA_LOOPS() {
  static constexpr Loops loops = {vadd,
                                  softmax,
                                  layernorm,
                                  rmsnorm,
                                  sums,
                                  maxima,
                                  row_scans,
                                  column_sums,
                                  column_scans,
                                  transpose<float>,
                                  transpose<std::uint16_t>,
                                  gathered_rows,
                                  gathered,
                                  product};
  return loops;
}

}  // namespace tegula::bench
