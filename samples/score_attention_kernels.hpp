// Defines attention whose scores and masks are functions of the user's: ALiBi, a window, documents in a row, a soft
// cap. A program that launches these includes <tegula/tegula.hpp>.
//
// Tensors are (batch, token, head, D), as a model's linear layers write them. `scale` multiplies the products of
// queries and keys, often 1 / sqrt(D). A block has BM queries of a head, and goes over the keys that they may see, BN
// at a time.
#pragma once

#include "attention_kernels.hpp"

namespace samples {

/// Takes blocks of keys in their order.
inline constexpr auto in_order = [](auto const& i) { return i; };

/// Computes and stores attention of queries block * BM and on to the blocks `keys_at(i)` of keys, i of `steps`.
/// `score(products, query, key)` returns the scores in powers of 2, -inf where hidden, of products (BM, BN) of queries
/// (BM, 1) and keys (1, BN).
template <int BM, int BN, int D, class Batch, class Head, class Block, class Steps, class KeysAt, class Score>
void attend(in<bf16, 4> const& Q, in<bf16, 4> const& K, in<bf16, 4> const& V, out<bf16, 4> const& O, Batch const& batch,
            Head const& head, Block const& block, Steps const& steps, KeysAt const& keys_at, Score const& score) {
  auto rows_of = [&]<std::int64_t rows>(Shape<rows>, in<bf16, 4> const& from, auto const& at) {
    return let(reshape(load(from, shape<1, rows, 1, D>, batch, at, head, 0), shape<rows, D>));
  };
  tile q = rows_of(shape<BM>, Q, block);
  tile query = iota<int>(shape<BM, 1>, axis<0>) + cast<int>(block * BM);
  auto all = loop(
      steps, no_keys<BM, D>(),
      [&](auto i, Softmax<BM, D> before) {
        auto j = keys_at(i);
        tile key = iota<int>(shape<1, BN>, axis<1>) + cast<int>(j * BN);
        tile products = dot(q, trans(rows_of(shape<BN>, K, j)));
        return add_keys(before, tile(score(products, query, key)), tile(rows_of(shape<BN>, V, j)));
      },
      stages<2>);
  store(O, shape<1, BM, 1, D>, reshape(means(all), shape<1, BM, 1, D>), batch, block, head, 0);
}

/// Computes causal attention with ALiBi: a score falls by the head's slope with each token between query and key.
template <int BM, int BN, int D>
inline constexpr auto alibi_attention = kernel("alibi_attention", [](in<bf16, 4> Q, in<bf16, 4> K, in<bf16, 4> V,
                                                                     in<float, 1> slopes, out<bf16, 4> O,
                                                                     arg<float> scale) {
  require(Q.extent(1) == K.extent(1), "alibi_attention: there are as many keys as queries");
  auto blocks = ceil_div(Q.extent(1), BM);
  auto g = grid(Q.extent(0), Q.extent(2), blocks);
  auto block = blocks - 1 - g[2];  // the blocks that see most keys come first
  auto slope = load(slopes, g[1]) * log2_of_e;
  attend<BM, BN, D>(Q, K, V, O, g[0], g[1], block, range(0, ceil_div((block + 1) * BM, BN)), in_order,
                    [&](auto products, auto query, auto key) {
                      tile scores = products * (scale * log2_of_e) + (cast<float>(key) - cast<float>(query)) * slope;
                      return select(key <= query, scores, -inf);
                    });
});

/// Computes attention of each query to its own key and the window - 1 keys before it; window counts tokens.
template <int BM, int BN, int D>
inline constexpr auto local_attention = kernel("local_attention", [](in<bf16, 4> Q, in<bf16, 4> K, in<bf16, 4> V,
                                                                     out<bf16, 4> O, arg<float> scale,
                                                                     arg<int> window) {
  require(Q.extent(1) == K.extent(1), "local_attention: there are as many keys as queries");
  require(window >= 1, "local_attention: a window has a token or more");
  auto g = grid(Q.extent(0), Q.extent(2), ceil_div(Q.extent(1), BM));
  auto first = max(g[2] * BM - window + 1, 0) / BN;
  attend<BM, BN, D>(Q, K, V, O, g[0], g[1], g[2], range(first, ceil_div((g[2] + 1) * BM, BN)), in_order,
                    [&](auto products, auto query, auto key) {
                      return select((key <= query) & (key > query - window), products * (scale * log2_of_e), -inf);
                    });
});

/// Computes causal attention within documents that lie one after another in a sequence: starts (batch, token) is the
/// first token of the document that the token is of. Keys of earlier documents are not read.
template <int BM, int BN, int D>
inline constexpr auto document_attention = kernel("document_attention", [](in<bf16, 4> Q, in<bf16, 4> K, in<bf16, 4> V,
                                                                           in<int, 2> starts, out<bf16, 4> O,
                                                                           arg<float> scale) {
  require(Q.extent(1) == K.extent(1), "document_attention: there are as many keys as queries");
  auto blocks = ceil_div(Q.extent(1), BM);
  auto g = grid(Q.extent(0), Q.extent(2), blocks);
  auto block = blocks - 1 - g[2];
  auto first = load(starts, g[0], block * BM, within<0, (1 << 30)>) / BN;
  tile start = trans(load(starts, shape<1, BM>, g[0], block));
  attend<BM, BN, D>(Q, K, V, O, g[0], g[1], block, range(first, ceil_div((block + 1) * BM, BN)), in_order,
                    [&](auto products, auto query, auto key) {
                      return select((key <= query) & (key >= start), products * (scale * log2_of_e), -inf);
                    });
});

/// Computes causal attention with scores between -cap and cap: cap * tanh(score / cap). `fast`: by the instruction.
template <int BM, int BN, int D, bool fast>
inline constexpr auto capped_attention = kernel("capped_attention", [](in<bf16, 4> Q, in<bf16, 4> K, in<bf16, 4> V,
                                                                       out<bf16, 4> O, arg<float> scale,
                                                                       arg<float> cap) {
  require(Q.extent(1) == K.extent(1), "capped_attention: there are as many keys as queries");
  auto blocks = ceil_div(Q.extent(1), BM);
  auto g = grid(Q.extent(0), Q.extent(2), blocks);
  auto block = blocks - 1 - g[2];
  auto small = scale / cap;
  attend<BM, BN, D>(Q, K, V, O, g[0], g[1], block, range(0, ceil_div((block + 1) * BM, BN)), in_order,
                    [&](auto products, auto query, auto key) {
                      tile x = products * small;
                      tile bent = [&] {
                        if constexpr (fast) return tile(fast_tanh(x));
                        if constexpr (!fast) return tile(tanh(x));
                      }();
                      return select(key <= query, bent * (cap * log2_of_e), -inf);
                    });
});

/// Computes attention to the blocks of keys that a list names: block n of queries sees the first counts (batch, n) of
/// blocks listed (batch, n, i). `visible(query, key)` hides more keys.
template <int BM, int BN, int D, class Visible>
constexpr auto listed_attention(Visible visible) {
  return kernel("listed_attention", [visible](in<bf16, 4> Q, in<bf16, 4> K, in<bf16, 4> V, in<int, 2> counts,
                                              in<int, 3> listed, out<bf16, 4> O, arg<float> scale) {
    auto g = grid(Q.extent(0), Q.extent(2), ceil_div(Q.extent(1), BM));
    attend<BM, BN, D>(
        Q, K, V, O, g[0], g[1], g[2], load(counts, g[0], g[2], within<0, (1 << 24)>),
        [&](auto i) { return load(listed, g[0], g[2], i, within<0, (1 << 24)>); },
        [&](auto products, auto query, auto key) {
          tile scores = products * (scale * log2_of_e);
          return select(visible(query, key), scores, -inf);
        });
  });
}

}  // namespace samples
