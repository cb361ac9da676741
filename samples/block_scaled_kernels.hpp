// Defines products of e4m3 with scales of blocks: 1 x 128 elements of the left operand have a scale, and 128 x 128 of
// the right one. A program that launches these includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

inline constexpr int scale_block = 128;

/// Says how the scales of a lie: (M, K / 128), or (K / 128, M), which the TMA engine copies.
enum class ScaleOrder { rows_first, blocks_first };

/// Computes C = A * B^T of scaled e4m3: a (M, K), b (N, K), c (M, N). b_scales are (N / 128, K / 128). The products of
/// each 128 elements of K are summed by themselves, then scaled and added in f32.
template <int BM, int BN, ScaleOrder order = ScaleOrder::rows_first>
inline constexpr auto block_scaled_product = kernel("block_scaled_product", [](in<e4m3, 2> a, in<float, 2> a_scales,
                                                                               in<e4m3, 2> b, in<float, 2> b_scales,
                                                                               out<bf16, 2> c) {
  static_assert(scale_block % BN == 0, "block_scaled_product: the columns of a tile share their scales");
  constexpr bool rows_first = order == ScaleOrder::rows_first;
  constexpr int along_m = rows_first ? 0 : 1, along_k = 1 - along_m;
  require(a.extent(1) == b.extent(1), "block_scaled_product: rows of a and b are equally long");
  require((a.extent(0) == c.extent(0)) & (b.extent(0) == c.extent(1)),
          "block_scaled_product: c has a row for each of a, and a column for each row of b");
  require((a_scales.extent(along_m) == a.extent(0)) & (a_scales.extent(along_k) == ceil_div(a.extent(1), scale_block)),
          "block_scaled_product: each 128 elements of a row of a have a scale");
  require((b_scales.extent(0) == ceil_div(b.extent(0), scale_block)) &
              (b_scales.extent(1) == ceil_div(b.extent(1), scale_block)),
          "block_scaled_product: each 128 x 128 elements of b have a scale");
  auto g = grid_over(c, shape<BM, BN>);
  auto const scales_of_rows = [&](auto k) {
    if constexpr (rows_first)
      return load(a_scales, shape<BM, 1>, g[0], k);
    else
      return trans(load(a_scales, shape<1, BM>, k, g[0]));
  };
  tile sums = loop(ceil_div(a.extent(1), scale_block), zeros<float>(shape<BM, BN>), [&](auto k, auto sum) {
    tile scale = scales_of_rows(k) * load(b_scales, g[1] * BN / scale_block, k);
    tile rows = load(a, shape<BM, scale_block>, g[0], k);
    return sum + dot(rows, trans(load(b, shape<BN, scale_block>, g[1], k))) * scale;
  });
  store(c, shape<BM, BN>, cast<bf16>(sums), g[0], g[1]);
});

}  // namespace samples
