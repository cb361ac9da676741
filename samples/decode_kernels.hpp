// Defines attention of one new token for each sequence (decode), where heads of queries share a head of keys and
// values. A program that launches these includes <tegula/tegula.hpp>.
//
// Layouts are those of a cache: queries (sequence, head, D), keys and values (sequence, token, head of keys, D), or in
// pages (page, token of the page, head of keys, D). A block has the `group` queries that share a head of keys, and goes
// over its share of the tokens, BN at a time. `scale` multiplies the products of queries and keys, often 1 / sqrt(D).
#pragma once

#include "attention_kernels.hpp"

namespace samples {

/// Adds the tokens from..to of one sequence and head; `keys(j)` and `values(j)` return block j of BN tokens.
template <int group, int BN, int D, class Queries, class Index, class Bound, class Length, class Keys, class Values>
auto attend_tokens(Queries const& q, Index const& first, Bound const& last, Length const& length,
                   arg<float> const& scale, Keys const& keys, Values const& values) {
  return loop(
      range(first, last), no_keys<group, D>(),
      [&](auto j, Softmax<group, D> before) {
        tile scores = dot(q, trans(keys(j))) * (scale * log2_of_e);
        return add_keys(before, tile(mask_outside(scores, axis<1>, j, length, -inf)), tile(values(j)));
      },
      stages<4>);
}

/// Computes attention of one query for each head over all tokens of its sequence, lengths (sequence) of them.
template <int group, int BN, int D>
inline constexpr auto decode = kernel("decode", [](in<bf16, 3> Q, in<bf16, 4> K, in<bf16, 4> V, in<int, 1> lengths,
                                                   out<bf16, 3> O, arg<float> scale) {
  require(Q.extent(1) == K.extent(2) * group, "decode: each head of keys is for a group of heads of queries");
  auto g = grid(Q.extent(0), K.extent(2));
  auto length = load(lengths, g[0], within<0, (1 << 24)>);
  tile q = load(Q, shape<group, D>, g[0], g[1], 0);
  auto block = [&](in<bf16, 4> const& cache, auto j) {
    return let(reshape(load(cache, shape<1, BN, 1, D>, g[0], j, g[1], 0), shape<BN, D>));
  };
  auto all = attend_tokens<group, BN, D>(
      q, 0, ceil_div(length, BN), length, scale, [&](auto j) { return block(K, j); },
      [&](auto j) { return block(V, j); });
  store(O, shape<group, D>, means(all), g[0], g[1], 0);
});

/// Computes the same for a share of the tokens: block s of `splits` takes every token from s / splits on. `sums` is
/// (split, sequence, head, D), `tops` and `totals` are (split, sequence, head); decode_join joins them.
template <int group, int BN, int D>
inline constexpr auto decode_part = kernel("decode_part", [](in<bf16, 3> Q, in<bf16, 4> K, in<bf16, 4> V,
                                                             in<int, 1> lengths, out<float, 4> sums, out<float, 3> tops,
                                                             out<float, 3> totals, arg<float> scale) {
  require(Q.extent(1) == K.extent(2) * group, "decode_part: each head of keys is for a group of heads of queries");
  auto splits = sums.extent(0);
  auto g = grid(Q.extent(0), K.extent(2), splits);
  auto length = load(lengths, g[0], within<0, (1 << 24)>);
  auto blocks = ceil_div(length, BN);
  tile q = load(Q, shape<group, D>, g[0], g[1], 0);
  auto block = [&](in<bf16, 4> const& cache, auto j) {
    return let(reshape(load(cache, shape<1, BN, 1, D>, g[0], j, g[1], 0), shape<BN, D>));
  };
  auto all = attend_tokens<group, BN, D>(
      q, g[2] * blocks / splits, (g[2] + 1) * blocks / splits, length, scale, [&](auto j) { return block(K, j); },
      [&](auto j) { return block(V, j); });
  store(sums, shape<group, D>, all.sums, g[2], g[0], g[1], 0);
  store(tops, shape<group>, squeeze(all.top, axis<1>), g[2], g[0], g[1]);
  store(totals, shape<group>, squeeze(all.total, axis<1>), g[2], g[0], g[1]);
});

/// Joins the parts of all splits, at most `splits` of them.
template <int splits, int D>
inline constexpr auto decode_join = kernel("decode_join", [](in<float, 4> sums, in<float, 3> tops, in<float, 3> totals,
                                                             out<bf16, 3> O) {
  require(sums.extent(0) <= splits, "decode_join: all parts must fit one tile");
  auto g = grid_over(O, shape<1, 1, D>);
  tile tops_of_parts = load(tops, shape<splits, 1, 1>, 0, g[0], g[1], pad(-1e30F));
  tile weights = exp2(tops_of_parts - max(tops_of_parts, axis<0>));
  tile total = sum(load(totals, shape<splits, 1, 1>, 0, g[0], g[1]) * weights, axis<0>);
  tile all = sum(reshape(load(sums, shape<splits, 1, 1, D>, 0, g[0], g[1], 0), shape<splits, 1, D>) * weights, axis<0>);
  store(O, shape<1, 1, D>, cast<bf16>(select(total > 0, all / total, 0)), g[0], g[1], 0);
});

/// Computes attention over keys and values in pages of `page` tokens. The table (sequence, n) is the number of a
/// sequence's page n.
template <int group, int BN, int page, int D>
inline constexpr auto paged_decode = kernel("paged_decode", [](in<bf16, 3> Q, in<bf16, 4> K, in<bf16, 4> V,
                                                               in<int, 2> table, in<int, 1> lengths, out<bf16, 3> O,
                                                               arg<float> scale) {
  require(K.extent(1) == page, "paged_decode: a page has another number of tokens");
  require(Q.extent(1) == K.extent(2) * group, "paged_decode: each head of keys is for a group of heads of queries");
  auto g = grid(Q.extent(0), K.extent(2));
  auto length = load(lengths, g[0], within<0, (1 << 24)>);
  tile q = load(Q, shape<group, D>, g[0], g[1], 0);
  auto block = [&](in<bf16, 4> const& cache, auto j) {
    if constexpr (BN == page) {
      auto at = load(table, g[0], j, within<0, (1 << 24)>);
      return let(reshape(load(cache, shape<1, BN, 1, D>, at, 0, g[1], 0), shape<BN, D>));
    } else {  // a block has several pages, found by a tile of indices
      tile token = iota<int>(shape<BN, 1>, axis<0>) + cast<int>(j) * BN;
      return let(gather(cache, gather(table, g[0], token / page), token % page, g[1], iota<int>(shape<1, D>, axis<1>)));
    }
  };
  auto all = attend_tokens<group, BN, D>(
      q, 0, ceil_div(length, BN), length, scale, [&](auto j) { return block(K, j); },
      [&](auto j) { return block(V, j); });
  store(O, shape<group, D>, means(all), g[0], g[1], 0);
});

}  // namespace samples
