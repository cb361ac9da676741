// Declares OpenMP loops beside the kernels that users write (host/rows/written*.cpp), built like those of loops.hpp.
// Matrices are row-major and dense; `threads` counts OpenMP's.
#pragma once

#include <cstdint>

namespace tegula::bench {

/// Holds the functions of one copy.
struct WrittenLoops {
  /// y (n) = w (n x k, bf16) x.
  void (*decode)(std::uint16_t const* w, float const* x, float* y, std::int64_t n, std::int64_t k, int threads);
  /// h = x + r; y = h / sqrt(mean of squares of its row + 1e-5) * gain.
  void (*norm)(float const* x, float const* r, float const* gain, float* h, float* y, std::int64_t rows, std::int64_t n,
               int threads);
  /// y: softmax of the first i + 1 elements of row i, times 0.125; 0 behind.
  void (*causal_softmax)(float const* x, float* y, std::int64_t n, int threads);
  /// loss (rows) = log(sum of exp(row)) - row[label].
  void (*cross_entropy)(float const* x, int const* labels, float* loss, std::int64_t rows, std::int64_t n, int threads);
  /// The 8 largest elements of each row, the largest first.
  void (*top_8)(float const* x, float* values, std::int64_t rows, std::int64_t n, int threads);
  /// y: sums of the elements of the row ahead of each place.
  void (*exclusive_sums)(int const* x, int* y, std::int64_t rows, std::int64_t n, int threads);
  /// counts (256) += 1 for each class.
  void (*histogram)(int const* classes, int* counts, std::int64_t n, int threads);
  /// y = x * k, 3 x 3, with zeros around x.
  void (*convolution)(float const* x, float const* k, float* y, std::int64_t height, std::int64_t width, int threads);
  /// The same for each of the channels, the last axis of x and k.
  void (*depthwise)(float const* x, float const* k, float* y, std::int64_t height, std::int64_t width,
                    std::int64_t channels, int threads);
  /// Fourier transforms of rows of 256, real and imaginary parts apart; w: cosines and sines of 2 pi i / 256.
  void (*fourier)(float const* re, float const* im, float const* w, float* out_re, float* out_im, std::int64_t rows,
                  int threads);
  /// a[i] = sum over j of (x[j] - x[i]) / (|p[j] - p[i]|^2 + 0.01)^1.5, of points p = (x, y, z), each n apart.
  void (*all_pairs)(float const* p, float* a, std::int64_t n, int threads);
  /// y (m x n) = x (m x k) w; w: 4 bits, low halves of bytes first along n, times one scale for each 64 rows and
  /// column.
  void (*product_4_bits)(float const* x, std::uint8_t const* w, float const* scales, float* y, std::int64_t m,
                         std::int64_t n, std::int64_t k, int threads);
  /// o = softmax(q k^T / 8) v, n x 64 each.
  void (*attention)(float const* q, float const* k, float const* v, float* o, std::int64_t n, int threads);
  /// y[to[i]] = x[from[i]] * weight[i], rows of n.
  void (*permuted_rows)(float const* x, int const* from, int const* to, float const* weight, float* y,
                        std::int64_t rows, std::int64_t n, int threads);
  /// dx of a layernorm of x with gradient dy and weight.
  void (*layernorm_backward)(float const* x, float const* weight, float const* mean, float const* rstd, float const* dy,
                             float* dx, std::int64_t rows, std::int64_t n, int threads);
};

/// Returns the copy for this machine; for AVX2 where the machine does not run it.
WrittenLoops const& native_written_loops();
WrittenLoops const& avx2_written_loops();

}  // namespace tegula::bench
