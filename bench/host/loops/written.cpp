// Defines written loops. Compiled twice, as loops.cpp: TEGULA_WRITTEN_LOOPS names the function that returns this copy.
#include "host/loops/written.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <vector>

#ifdef _OPENMP
#define TEGULA_PARALLEL _Pragma("omp parallel for num_threads(threads)")
#else
#define TEGULA_PARALLEL
#endif

namespace tegula::bench {
namespace {

float from_bf16(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

void decode(std::uint16_t const* __restrict w, float const* __restrict x, float* __restrict y, std::int64_t n,
            std::int64_t k, [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < n; ++i) {
    float total = 0;
    for (std::int64_t j = 0; j < k; ++j) total += from_bf16(w[i * k + j]) * x[j];
    y[i] = total;
  }
}

void norm(float const* __restrict x, float const* __restrict r, float const* __restrict gain, float* __restrict h,
          float* __restrict y, std::int64_t rows, std::int64_t n, [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < rows; ++i) {
    float squares = 0;
    for (std::int64_t j = i * n; j < (i + 1) * n; ++j) {
      h[j] = x[j] + r[j];
      squares += h[j] * h[j];
    }
    float const scale = 1 / std::sqrt(squares / static_cast<float>(n) + 1e-5F);
    for (std::int64_t j = 0; j < n; ++j) y[i * n + j] = h[i * n + j] * scale * gain[j];
  }
}

void causal_softmax(float const* __restrict x, float* __restrict y, std::int64_t n, [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < n; ++i) {
    float const* const from = x + i * n;
    float* const to = y + i * n;
    float largest = from[0];
    for (std::int64_t j = 1; j <= i; ++j) largest = from[j] > largest ? from[j] : largest;
    float total = 0;
    for (std::int64_t j = 0; j <= i; ++j) total += to[j] = std::exp((from[j] - largest) * 0.125F);
    for (std::int64_t j = 0; j <= i; ++j) to[j] /= total;
    for (std::int64_t j = i + 1; j < n; ++j) to[j] = 0;
  }
}

void cross_entropy(float const* __restrict x, int const* __restrict labels, float* __restrict loss, std::int64_t rows,
                   std::int64_t n, [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < rows; ++i) {
    float const* const row = x + i * n;
    float largest = row[0];
    for (std::int64_t j = 1; j < n; ++j) largest = row[j] > largest ? row[j] : largest;
    float total = 0;
    for (std::int64_t j = 0; j < n; ++j) total += std::exp(row[j] - largest);
    loss[i] = largest + std::log(total) - row[labels[i]];
  }
}

void top_8(float const* __restrict x, float* __restrict values, std::int64_t rows, std::int64_t n,
           [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < rows; ++i) {
    float best[8];
    std::fill(best, best + 8, -3e38F);
    for (std::int64_t j = 0; j < n; ++j) {
      float const value = x[i * n + j];
      if (value <= best[7]) continue;
      int place = 7;
      for (; place > 0 && best[place - 1] < value; --place) best[place] = best[place - 1];
      best[place] = value;
    }
    std::copy(best, best + 8, values + i * 8);
  }
}

void exclusive_sums(int const* __restrict x, int* __restrict y, std::int64_t rows, std::int64_t n,
                    [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < rows; ++i) {
    int total = 0;
    for (std::int64_t j = i * n; j < (i + 1) * n; ++j) {
      y[j] = total;
      total += x[j];
    }
  }
}

void histogram(int const* __restrict classes, int* __restrict counts, std::int64_t n, [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < n; ++i) {
#ifdef _OPENMP
#pragma omp atomic
#endif
    ++counts[classes[i]];
  }
}

/// Adds the products of one row of x, where it has one, to a row of y.
void add_row(float const* __restrict x, float const* k, float* __restrict y, std::int64_t width) {
  if (width == 1) {
    y[0] += k[1] * x[0];
    return;
  }
  y[0] += k[1] * x[0] + k[2] * x[1];
  for (std::int64_t j = 1; j < width - 1; ++j) y[j] += k[0] * x[j - 1] + k[1] * x[j] + k[2] * x[j + 1];
  y[width - 1] += k[0] * x[width - 2] + k[1] * x[width - 1];
}

void convolution(float const* x, float const* k, float* y, std::int64_t height, std::int64_t width,
                 [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < height; ++i) {
    std::fill(y + i * width, y + (i + 1) * width, 0.F);
    for (std::int64_t d = 0; d < 3; ++d)
      if (i + d >= 1 && i + d <= height) add_row(x + (i + d - 1) * width, k + 3 * d, y + i * width, width);
  }
}

void depthwise(float const* __restrict x, float const* __restrict k, float* __restrict y, std::int64_t height,
               std::int64_t width, std::int64_t channels, [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < height; ++i)
    for (std::int64_t j = 0; j < width; ++j) {
      float* const to = y + (i * width + j) * channels;
      std::fill(to, to + channels, 0.F);
      for (std::int64_t d = std::max<std::int64_t>(0, 1 - i); d < std::min<std::int64_t>(3, height - i + 1); ++d)
        for (std::int64_t e = std::max<std::int64_t>(0, 1 - j); e < std::min<std::int64_t>(3, width - j + 1); ++e)
          for (std::int64_t c = 0; c < channels; ++c)
            to[c] += x[((i + d - 1) * width + j + e - 1) * channels + c] * k[(d * 3 + e) * channels + c];
    }
}

void fourier(float const* re, float const* im, float const* w, float* out_re, float* out_im, std::int64_t rows,
             [[maybe_unused]] int threads) {
  constexpr std::int64_t n = 256;
  TEGULA_PARALLEL
  for (std::int64_t row = 0; row < rows; ++row) {
    float memory[4][n];
    float *xr = memory[0], *xi = memory[1], *yr = memory[2], *yi = memory[3];
    std::copy(re + row * n, re + (row + 1) * n, xr);
    std::copy(im + row * n, im + (row + 1) * n, xi);
    std::int64_t s = 1;
    for (std::int64_t half = n / 2; half >= 1; half /= 2, s *= 2) {
      for (std::int64_t p = 0; p < half; ++p) {
        float const wr = w[p * s], wi = -w[n + p * s];
#pragma GCC ivdep
        for (std::int64_t q = 0; q < s; ++q) {
          std::int64_t const a = q + s * p, b = a + s * half, to = q + s * 2 * p;
          float const dr = xr[a] - xr[b], di = xi[a] - xi[b];
          yr[to] = xr[a] + xr[b], yi[to] = xi[a] + xi[b];
          yr[to + s] = dr * wr - di * wi, yi[to + s] = dr * wi + di * wr;
        }
      }
      std::swap(xr, yr), std::swap(xi, yi);
    }
    std::copy(xr, xr + n, out_re + row * n);
    std::copy(xi, xi + n, out_im + row * n);
  }
}

void all_pairs(float const* __restrict p, float* __restrict a, std::int64_t n, [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < n; ++i) {
    float total = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      float const dx = p[j] - p[i], dy = p[n + j] - p[n + i], dz = p[2 * n + j] - p[2 * n + i];
      float const square = dx * dx + dy * dy + dz * dz + 0.01F;
      total += dx / (square * std::sqrt(square));
    }
    a[i] = total;
  }
}

void product_4_bits(float const* __restrict x, std::uint8_t const* __restrict w, float const* __restrict scales,
                    float* __restrict y, std::int64_t m, std::int64_t n, std::int64_t k, [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < m; ++i) {
    float* const to = y + i * n;
    std::fill(to, to + n, 0.F);
    for (std::int64_t e = 0; e < k; ++e) {
      float const left = x[i * k + e];
      float const* const scale = scales + e / 64 * n;
      for (std::int64_t j = 0; j < n / 2; ++j) {
        int const byte = w[e * (n / 2) + j];
        to[2 * j] += left * static_cast<float>(((byte & 15) ^ 8) - 8) * scale[2 * j];
        to[2 * j + 1] += left * static_cast<float>(((byte >> 4) ^ 8) - 8) * scale[2 * j + 1];
      }
    }
  }
}

void attention(float const* __restrict q, float const* __restrict k, float const* __restrict v, float* __restrict o,
               std::int64_t n, [[maybe_unused]] int threads) {
  constexpr std::int64_t width = 64;
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < n; ++i) {
    std::vector<float> p(static_cast<std::size_t>(n));
    float largest = -3e38F, total = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      float score = 0;
      for (std::int64_t e = 0; e < width; ++e) score += q[i * width + e] * k[j * width + e];
      p[static_cast<std::size_t>(j)] = score * 0.125F;
      largest = std::max(largest, score * 0.125F);
    }
    for (float& weight : p) total += weight = std::exp(weight - largest);
    float* const to = o + i * width;
    std::fill(to, to + width, 0.F);
    for (std::int64_t j = 0; j < n; ++j) {
      float const weight = p[static_cast<std::size_t>(j)] / total;
      for (std::int64_t e = 0; e < width; ++e) to[e] += weight * v[j * width + e];
    }
  }
}

void permuted_rows(float const* __restrict x, int const* __restrict from, int const* __restrict to,
                   float const* __restrict weight, float* __restrict y, std::int64_t rows, std::int64_t n,
                   [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t j = 0; j < n; ++j) y[to[i] * n + j] = x[from[i] * n + j] * weight[i];
}

void layernorm_backward(float const* __restrict x, float const* __restrict weight, float const* __restrict mean,
                        float const* __restrict rstd, float const* __restrict dy, float* __restrict dx,
                        std::int64_t rows, std::int64_t n, [[maybe_unused]] int threads) {
  TEGULA_PARALLEL
  for (std::int64_t i = 0; i < rows; ++i) {
    float total = 0, along = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      float const scaled = dy[i * n + j] * weight[j];
      total += scaled;
      along += scaled * (x[i * n + j] - mean[i]) * rstd[i];
    }
    total /= static_cast<float>(n), along /= static_cast<float>(n);
    for (std::int64_t j = 0; j < n; ++j)
      dx[i * n + j] = (dy[i * n + j] * weight[j] - total - (x[i * n + j] - mean[i]) * rstd[i] * along) * rstd[i];
  }
}

}  // namespace

WrittenLoops const& TEGULA_WRITTEN_LOOPS() {
  static constexpr WrittenLoops loops = {
      decode,    norm,    causal_softmax, cross_entropy,  top_8,     exclusive_sums, histogram,          convolution,
      depthwise, fourier, all_pairs,      product_4_bits, attention, permuted_rows,  layernorm_backward,
  };
  return loops;
}

}  // namespace tegula::bench
