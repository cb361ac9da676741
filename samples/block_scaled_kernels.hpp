// Defines products of e4m3 with scales of blocks: 1 x 128 elements of the left operand have a scale, and 128 x 128 of
// the right one. A program that launches these includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

inline constexpr int scale_block = 128;

/// Says how the scales of a lie: (M, K / 128), or (K / 128, M), which the TMA engine copies.
enum class ScaleOrder { rows_first, blocks_first };

/// Sums the products of each 128 elements of K by themselves, then scaled and added in f32. `rows`, `columns` and
/// `scale` give a block's operands and its scale for 128 elements of K.
template <int BM, int BN, class Depth, class Rows, class Columns, class Scale>
auto block_scaled_sums(Depth const& depth, Rows const& rows, Columns const& columns, Scale const& scale) {
  static_assert(scale_block % BN == 0, "block_scaled_sums: the columns of a tile must share their scales");
  return loop(ceil_div(depth, scale_block), zeros<float>(shape<BM, BN>), [=](auto k, auto sum) {
    tile factor = scale(k);
    return sum + dot(rows(k), trans(columns(k))) * factor;
  });
}

/// Computes C = A * B^T of scaled e4m3: a (M, K), b (N, K), c (M, N). b_scales are (N / 128, K / 128).
template <int BM, int BN, ScaleOrder order = ScaleOrder::rows_first>
inline constexpr auto block_scaled_product = kernel("block_scaled_product", [](in<e4m3, 2> a, in<float, 2> a_scales,
                                                                               in<e4m3, 2> b, in<float, 2> b_scales,
                                                                               out<bf16, 2> c) {
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
  auto const scale = [&](auto k) { return scales_of_rows(k) * load(b_scales, g[1] * BN / scale_block, k); };
  tile sums = block_scaled_sums<BM, BN>(
      a.extent(1), [&](auto k) { return load(a, shape<BM, scale_block>, g[0], k); },
      [&](auto k) { return load(b, shape<BN, scale_block>, g[1], k); }, scale);
  store(c, shape<BM, BN>, cast<bf16>(sums), g[0], g[1]);
});

/// Does the same for rows that lie one group after the other, each with weights of its own: b (groups, N, K) and
/// b_scales (groups, N / 128, K / 128). `groups` holds the group of each row; all BM rows of a block have one group, or
/// -1 where no row is wanted. a_scales are (M, K / 128).
template <int BM, int BN>
inline constexpr auto block_scaled_groups = kernel("block_scaled_groups", [](in<e4m3, 2> a, in<float, 2> a_scales,
                                                                             in<e4m3, 3> b, in<float, 3> b_scales,
                                                                             in<int, 1> groups, out<bf16, 2> c) {
  require(a.extent(1) == b.extent(2), "block_scaled_groups: rows of a and b are equally long");
  require((a.extent(0) == c.extent(0)) & (b.extent(1) == c.extent(1)) & (groups.extent(0) == c.extent(0)),
          "block_scaled_groups: c has a row for each of a, and a column for each row of a group of b");
  auto g = grid_over(c, shape<BM, BN>);
  auto group = load(groups, g[0] * BM);
  if_(group >= 0, [&] {
    auto const scale = [&](auto k) {
      return load(a_scales, shape<BM, 1>, g[0], k) * load(b_scales, group, g[1] * BN / scale_block, k);
    };
    tile sums = block_scaled_sums<BM, BN>(
        a.extent(1), [&](auto k) { return load(a, shape<BM, scale_block>, g[0], k); },
        [&](auto k) { return load(b, shape<BN, scale_block>, group, g[1], k); }, scale);
    store(c, shape<BM, BN>, cast<bf16>(sums), g[0], g[1]);
  });
});

/// Does the same for groups of equal room: a (groups, M, K), a_scales (groups, M, K / 128), c (groups, M, N). Of each
/// group the first counts[group] rows are wanted, and rows of other blocks stay as they are.
template <int BM, int BN>
inline constexpr auto block_scaled_batch = kernel("block_scaled_batch", [](in<e4m3, 3> a, in<float, 3> a_scales,
                                                                           in<e4m3, 3> b, in<float, 3> b_scales,
                                                                           in<int, 1> counts, out<bf16, 3> c) {
  require(a.extent(2) == b.extent(2), "block_scaled_batch: rows of a and b are equally long");
  require((a.extent(1) == c.extent(1)) & (b.extent(1) == c.extent(2)),
          "block_scaled_batch: c has a row for each of a, and a column for each row of b");
  auto g = grid_over(c, shape<1, BM, BN>);
  if_(g[1] * BM < load(counts, g[0]), [&] {
    auto const scale = [&](auto k) {
      return load(a_scales, shape<BM, 1>, g[0], g[1], k) * load(b_scales, g[0], g[2] * BN / scale_block, k);
    };
    tile sums = block_scaled_sums<BM, BN>(
        a.extent(2), [&](auto k) { return load(a, shape<BM, scale_block>, g[0], g[1], k); },
        [&](auto k) { return load(b, shape<BN, scale_block>, g[0], g[2], k); }, scale);
    store(c, shape<BM, BN>, cast<bf16>(sums), g[0], g[1], g[2]);
  });
});

}  // namespace samples
