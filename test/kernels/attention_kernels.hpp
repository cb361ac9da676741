// Checks attention forward for heads of any dimension, on any executor, against float64.
#pragma once

#include <algorithm>
#include <cmath>

#include "../../samples/kernels.hpp"
#include "support/catch.hpp"
#include "kernels/indexed_kernels.hpp"

namespace tegula::test {

/// Runs the attention of the samples: `queries` and `keys` are rows, neither a multiple of the blocks.
template <int d>
void check_attention(Executor on, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
  constexpr int block = d <= 128 ? 128 : 64;  // of keys: larger heads leave less shared memory
  auto const draw = [](std::int64_t rows, std::int64_t count) {
    Array<bf16, 3> result({count, rows, d});
    for (bf16& v : result.values) v = bf16(static_cast<float>(draw_below(257) - 128) / 64);
    return result;
  };
  auto q = draw(queries, heads), k = draw(keys, heads), v = draw(keys, heads);
  Array<bf16, 3> o({heads, queries, d}, bf16(NAN));
  double const scale = 1 / std::sqrt(static_cast<double>(d));
  TEGULA_CHECK_RUN(on, (samples::attention<128, block, d>), q, k, v, o, static_cast<float>(scale * 1.4426950408889634));
  std::vector<double> weights(static_cast<std::size_t>(keys));
  double worst = 0;
  for (std::int64_t h = 0; h < heads; ++h)
    for (std::int64_t i = 0; i < queries; ++i) {
      auto const at = [&](Array<bf16, 3> const& x, std::int64_t rows, std::int64_t row, int e) {
        return static_cast<double>(static_cast<float>(x[(h * rows + row) * d + e]));
      };
      double highest = -HUGE_VAL, sum = 0;
      for (std::int64_t j = 0; j < keys; ++j) {
        double s = 0;
        for (int e = 0; e < d; ++e) s += at(q, queries, i, e) * at(k, keys, j, e);
        highest = std::max(highest, weights[static_cast<std::size_t>(j)] = s * scale);
      }
      for (double& w : weights) sum += w = std::exp(w - highest);
      for (int e = 0; e < d; ++e) {
        double expected = 0;
        for (std::int64_t j = 0; j < keys; ++j) expected += weights[static_cast<std::size_t>(j)] * at(v, keys, j, e);
        double const error = std::abs(at(o, queries, i, e) - expected / sum) / std::max(std::abs(expected / sum), 1.0);
        worst = std::isfinite(error) ? std::max(worst, error) : HUGE_VAL;
      }
    }
  INFO("on " << name(on) << ", heads of " << d);
  CHECK(worst < 8e-3);  // weights and results are rounded to bf16
}

/// Checks each head dimension.
inline void check_all_heads(Executor on, std::int64_t heads, std::int64_t queries, std::int64_t keys) {
  check_attention<16>(on, heads, queries, keys);
  check_attention<32>(on, heads, queries, keys);
  check_attention<64>(on, heads, queries, keys);
  check_attention<128>(on, heads, queries, keys);
  check_attention<256>(on, heads, queries, keys);
}

}  // namespace tegula::test
