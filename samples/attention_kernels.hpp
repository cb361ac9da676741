// Defines the family of attention: log-sum-exp, sliding window, additive bias, ragged lengths, pages, gradients, and 8
// bits. samples/kernels.hpp has the plain kernel, samples/10_grouped_attention.cpp grouped queries. A program that
// launches these includes <tegula/tegula.hpp>.
//
// Tensors are (head, token, D) unless stated; the heads of all sequences lie one after another. `scale` multiplies the
// products of queries and keys and has no unit, often 1 / sqrt(D). BM is a block of queries, BN one of keys.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

inline constexpr float log2_of_e = 1.4426950408889634F, ln_of_2 = 0.6931471805599453F;

/// Holds the softmax of a block of queries over the keys so far.
template <std::int64_t BM, std::int64_t D>
struct Softmax {
  tile<float, Shape<BM, 1>> top, total;  ///< the maximum, in powers of 2, and the sum of weights 2^(score - top)
  tile<float, Shape<BM, D>> sums;        ///< of values times weights
};

/// Begins without keys. The maximum is a number: rows whose first keys are hidden keep weights of 0.
template <std::int64_t BM, std::int64_t D>
Softmax<BM, D> no_keys() {
  return {tile(full(shape<BM, 1>, -1e30F)), tile(zeros<float>(shape<BM, 1>)), tile(zeros<float>(shape<BM, D>))};
}

/// Adds a block of keys by their scores in powers of 2, -inf where hidden, and their values.
template <std::int64_t BM, std::int64_t BN, std::int64_t D, class T>
Softmax<BM, D> add_keys(Softmax<BM, D> const& before, tile<float, Shape<BM, BN>> const& scores,
                        tile<T, Shape<BN, D>> const& values) {
  tile top = max(before.top, max(scores, axis<1>));
  tile weights = exp2(scores - top);
  tile fall = exp2(before.top - top);
  return {top, tile(before.total * fall + sum(weights, axis<1>)),
          tile(dot(cast<T>(weights), values, before.sums * fall))};
}

/// Returns the means of the values; 0 in rows without keys.
template <class T = bf16, std::int64_t BM, std::int64_t D>
tile<T, Shape<BM, D>> means(Softmax<BM, D> const& all) {
  return tile(cast<T>(select(all.total > 0, all.sums / all.total, 0)));
}

/// Computes causal attention, and the natural logarithm of each row's sum of exponentials for the way back:
/// lse (head, token) = ln(sum over keys of exp(scale * q . k)).
template <int BM, int BN, int D>
inline constexpr auto attention_with_lse = kernel("attention_with_lse", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                           out<bf16, 3> O, out<float, 2> lse,
                                                                           arg<float> scale) {
  require(Q.extent(1) == K.extent(1), "attention_with_lse: there are as many keys as queries");
  auto g = grid_over(O, shape<BM, D>);
  tile q = load(Q, shape<BM, D>, g[0], g[1], 0);
  tile query = iota(shape<BM, 1>, axis<0>) + g[1] * BM;
  auto all = loop(
      ceil_div((g[1] + 1) * BM, BN), no_keys<BM, D>(),
      [&](auto j, Softmax<BM, D> before) {
        tile key = iota(shape<1, BN>, axis<1>) + j * BN;
        tile scores = dot(q, trans(load(K, shape<BN, D>, g[0], j, 0))) * (scale * log2_of_e);
        return add_keys(before, tile(select(key <= query, scores, -inf)), tile(load(V, shape<BN, D>, g[0], j, 0)));
      },
      stages<2>);
  store(O, shape<BM, D>, means(all), g[0], g[1], 0);
  store(lse, shape<BM>, squeeze((all.top + log2(all.total)) * ln_of_2, axis<1>), g[0], g[1]);
});

/// Computes attention of each query to its own key and the window - 1 keys before it; window counts tokens.
template <int BM, int BN, int D>
inline constexpr auto window_attention = kernel("window_attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                       out<bf16, 3> O, arg<float> scale,
                                                                       arg<int> window) {
  require(Q.extent(1) == K.extent(1), "window_attention: there are as many keys as queries");
  require(window >= 1, "window_attention: a window has a token or more");
  auto g = grid_over(O, shape<BM, D>);
  tile q = load(Q, shape<BM, D>, g[0], g[1], 0);
  tile query = iota(shape<BM, 1>, axis<0>) + g[1] * BM;
  auto first = max(g[1] * BM - window + 1, 0) / BN;  // the block of keys where the first query's window begins
  auto all = loop(
      range(first, ceil_div((g[1] + 1) * BM, BN)), no_keys<BM, D>(),
      [&](auto j, Softmax<BM, D> before) {
        tile key = iota(shape<1, BN>, axis<1>) + j * BN;
        tile scores = dot(q, trans(load(K, shape<BN, D>, g[0], j, 0))) * (scale * log2_of_e);
        tile seen = (key <= query) & (key > query - window);
        return add_keys(before, tile(select(seen, scores, -inf)), tile(load(V, shape<BN, D>, g[0], j, 0)));
      },
      stages<2>);
  store(O, shape<BM, D>, means(all), g[0], g[1], 0);
});

/// Computes attention with scores scale * q . k + bias; bias is (head, query, key), in natural units as the scores.
template <int BM, int BN, int D>
inline constexpr auto bias_attention = kernel("bias_attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                   in<bf16, 3> bias, out<bf16, 3> O, arg<float> scale) {
  auto g = grid_over(O, shape<BM, D>);
  tile q = load(Q, shape<BM, D>, g[0], g[1], 0);
  auto all = loop(
      ceil_div(K.extent(1), BN), no_keys<BM, D>(),
      [&](auto j, Softmax<BM, D> before) {
        tile products = dot(q, trans(load(K, shape<BN, D>, g[0], j, 0)));
        tile added = cast<float>(load(bias, shape<BM, BN>, g[0], g[1], j)) * log2_of_e;
        tile scores = mask_outside(products * (scale * log2_of_e) + added, axis<1>, j, K.extent(1), -inf);
        return add_keys(before, scores, tile(load(V, shape<BN, D>, g[0], j, 0)));
      },
      stages<2>);
  store(O, shape<BM, D>, means(all), g[0], g[1], 0);
});

/// Computes causal attention of sequences of different lengths, whose tokens lie one after another along axis 1.
/// Sequence s has the tokens offsets[s] .. offsets[s + 1] - 1, maybe none; `longest` is the max number of them.
template <int BM, int BN, int D>
inline constexpr auto ragged_attention = kernel("ragged_attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                       in<int, 1> offsets, out<bf16, 3> O,
                                                                       arg<float> scale, arg<int> longest) {
  auto g = grid(Q.extent(0), offsets.extent(0) - 1, ceil_div(longest, BM));
  auto first = load(offsets, g[1]), last = load(offsets, g[1] + 1);
  auto length = last - first;
  auto queries = slice(Q, axis<1>, first, last);
  auto keys = slice(K, axis<1>, first, last);
  auto values = slice(V, axis<1>, first, last);
  auto results = slice(O, axis<1>, first, last);
  // Blocks behind the last query of a sequence are idle: they load zeros, and store nothing.
  tile q = load(queries, shape<BM, D>, g[0], g[2], 0, pad(0));
  tile query = iota(shape<BM, 1>, axis<0>) + g[2] * BM;
  auto all = loop(
      select(g[2] * BM < length, ceil_div((g[2] + 1) * BM, BN), 0),  // no work behind the last query
      no_keys<BM, D>(),
      [&](auto j, Softmax<BM, D> before) {
        tile key = iota(shape<1, BN>, axis<1>) + j * BN;
        tile scores = dot(q, trans(load(keys, shape<BN, D>, g[0], j, 0))) * (scale * log2_of_e);
        return add_keys(before, tile(select(key <= query, scores, -inf)), tile(load(values, shape<BN, D>, g[0], j, 0)));
      },
      stages<2>);
  store(results, shape<BM, D>, means(all), g[0], g[2], 0, may_be_outside);
});

/// Computes attention to keys and values in pages. K and V are (page, head of keys, token of the page, D). The table
/// (sequence, n) is the number of a sequence's page n, and lengths (sequence) counts its tokens, maybe 0. Queries are
/// the last tokens of their sequence; `group` heads of queries share a head of keys.
template <int BM, int page, int D>
inline constexpr auto paged_attention = kernel("paged_attention", [](in<bf16, 3> Q, in<bf16, 4> K, in<bf16, 4> V,
                                                                     in<int, 2> table, in<int, 1> lengths,
                                                                     out<bf16, 3> O, arg<float> scale, arg<int> group) {
  require(K.extent(2) == page, "paged_attention: a page has another number of tokens");
  require(Q.extent(0) == lengths.extent(0) * (K.extent(1) * group),
          "paged_attention: each head of keys is for a group of heads of queries");
  auto g = grid_over(O, shape<BM, D>);
  auto sequence = g[0] / (K.extent(1) * group);
  auto shared = g[0] / group % K.extent(1);  // the group's head of keys and values
  auto length = load(lengths, sequence, within<0, (1 << 24)>);
  tile q = load(Q, shape<BM, D>, g[0], g[1], 0);
  tile query = iota(shape<BM, 1>, axis<0>) + (g[1] * BM + length - Q.extent(1));  // counts the sequence's tokens
  auto all = loop(
      ceil_div(length, page), no_keys<BM, D>(),
      [&](auto j, Softmax<BM, D> before) {
        auto at = load(table, sequence, j, within<0, (1 << 24)>);
        tile key = iota(shape<1, page>, axis<1>) + j * page;
        tile scores = dot(q, trans(load(K, shape<page, D>, at, shared, 0, 0))) * (scale * log2_of_e);
        tile seen = (key <= query) & (key < length);
        return add_keys(before, tile(select(seen, scores, -inf)), tile(load(V, shape<page, D>, at, shared, 0, 0)));
      },
      stages<2>);
  store(O, shape<BM, D>, means(all), g[0], g[1], 0);
});

/// Computes attention of e4m3: Q and K are (head, token, D), V is transposed, (head, D, token), since tensor cores take
/// 8 bits along the sum alone. Elements times their tensor's scale are the numbers: score_scale is those of Q and K
/// times 1 / sqrt(D), value_scale that of V. Weights are rounded to e4m3, which has 4 bits: 448 is the max.
template <int BM, int BN, int D>
inline constexpr auto e4m3_attention = kernel("e4m3_attention", [](in<e4m3, 3> Q, in<e4m3, 3> K, in<e4m3, 3> V,
                                                                   out<bf16, 3> O, arg<float> score_scale,
                                                                   arg<float> value_scale) {
  require(V.extent(2) == K.extent(1), "e4m3_attention: V is transposed, (head, D, token)");
  auto g = grid_over(O, shape<BM, D>);
  tile q = load(Q, shape<BM, D>, g[0], g[1], 0);
  auto all = loop(
      ceil_div(K.extent(1), BN), no_keys<BM, D>(),
      [&](auto j, Softmax<BM, D> before) {
        tile scores = dot(q, trans(load(K, shape<BN, D>, g[0], j, 0))) * (score_scale * log2_of_e);
        return add_keys(before, tile(mask_outside(scores, axis<1>, j, K.extent(1), -inf)),
                        tile(trans(load(V, shape<D, BN>, g[0], 0, j))));
      },
      stages<2>);
  store(O, shape<BM, D>, cast<bf16>(all.sums / all.total * value_scale), g[0], g[1], 0);
});

/// Stores delta (head, token) = sum over D of O * dO of a block of queries, which all gradients need.
template <int BM, int D, class In, class Out, class Grid>
void store_delta(In const& O, In const& dO, Out const& delta, Grid const& g) {
  tile products =
      cast<float>(load(O, shape<BM, D>, g[0], g[1], 0)) * cast<float>(load(dO, shape<BM, D>, g[0], g[1], 0));
  store(delta, shape<BM>, squeeze(sum(products, axis<1>), axis<1>), g[0], g[1]);
}

/// Computes delta, which both kernels of gradients read.
template <int BM, int D>
inline constexpr auto attention_delta = kernel("attention_delta",
                                               [](in<bf16, 3> O, in<bf16, 3> dO, out<float, 2> delta) {
                                                 store_delta<BM, D>(O, dO, delta, grid_over(delta, shape<BM>));
                                               });

/// Computes and stores the gradients of keys and values for a block of keys: weight p = exp(scale * q . k - lse),
/// dV = p^T dO, dK = scale * ds^T Q, with ds = p * (dO . v - delta). Without `causal` each query sees all keys.
/// `use(ds, k, i, head)` takes the gradients of scores, (key, query), of each block of queries i.
template <int BM, int BN, int D, bool causal, class Use>
void keys_backward(in<bf16, 3> const& Q, in<bf16, 3> const& K, in<bf16, 3> const& V, in<bf16, 3> const& dO,
                   in<float, 2> const& lse, in<float, 2> const& delta, out<bf16, 3> const& dK, out<bf16, 3> const& dV,
                   arg<float> const& scale, Use const& use) {
  auto g = grid_over(dK, shape<BN, D>);
  tile k = load(K, shape<BN, D>, g[0], g[1], 0);
  tile v = load(V, shape<BN, D>, g[0], g[1], 0);
  tile key = iota(shape<BN, 1>, axis<0>) + g[1] * BN;
  auto [dk, dv] = loop(
      // Earlier queries see none of these keys.
      range(g[1] * (causal ? BN : 0) / BM, ceil_div(Q.extent(1), BM)),
      carry(zeros<float>(shape<BN, D>), zeros<float>(shape<BN, D>)),
      [&](auto i, auto dk0, auto dv0) {
        tile q = load(Q, shape<BM, D>, g[0], i, 0);
        tile go = load(dO, shape<BM, D>, g[0], i, 0);
        tile query = iota(shape<1, BM>, axis<1>) + i * BM;
        tile all = dot(k, trans(q)) * (scale * log2_of_e), dp = dot(v, trans(go));
        tile scores = [&] {
          if constexpr (causal) return tile(select(key <= query, all, -inf));
          if constexpr (!causal) return all;
        }();
        tile p = exp2(scores - expand_dims(load(lse, shape<BM>, g[0], i), axis<0>) * log2_of_e);
        tile dv1 = dot(cast<bf16>(p), go, dv0);
        tile ds = cast<bf16>(p * (dp - expand_dims(load(delta, shape<BM>, g[0], i), axis<0>)));
        use(ds, k, i, g[0]);
        return carry(dot(ds, q, dk0), dv1);
      },
      stages<2>);
  store(dK, shape<BN, D>, cast<bf16>(dk * scale), g[0], g[1], 0);
  store(dV, shape<BN, D>, cast<bf16>(dv), g[0], g[1], 0);
}

/// Computes the gradients of keys and values of attention_with_lse, a block of keys at a time.
template <int BM, int BN, int D, bool causal = true>
inline constexpr auto attention_keys_backward =
    kernel("attention_keys_backward", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V, in<bf16, 3> dO, in<float, 2> lse,
                                         in<float, 2> delta, out<bf16, 3> dK, out<bf16, 3> dV, arg<float> scale) {
      keys_backward<BM, BN, D, causal>(Q, K, V, dO, lse, delta, dK, dV, scale, [](auto const&...) {});
    });

/// Computes the gradient of queries of attention_with_lse, a block of queries at a time: dQ = scale * ds K. Without
/// `causal` each query sees all keys.
template <int BM, int BN, int D, bool causal = true>
inline constexpr auto attention_queries_backward =
    kernel("attention_queries_backward", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V, in<bf16, 3> dO,
                                            in<float, 2> lse, in<float, 2> delta, out<bf16, 3> dQ, arg<float> scale) {
      auto g = grid_over(dQ, shape<BM, D>);
      tile q = load(Q, shape<BM, D>, g[0], g[1], 0);
      tile go = load(dO, shape<BM, D>, g[0], g[1], 0);
      tile reference = expand_dims(load(lse, shape<BM>, g[0], g[1]), axis<1>) * log2_of_e;
      tile mean = expand_dims(load(delta, shape<BM>, g[0], g[1]), axis<1>);
      tile query = iota(shape<BM, 1>, axis<0>) + g[1] * BM;
      auto const blocks = [&] {
        if constexpr (causal) return ceil_div((g[1] + 1) * BM, BN);
        if constexpr (!causal) return ceil_div(K.extent(1), BN);
      }();
      tile dq = loop(
          // The last blocks of keys may lie behind the last key, where BN is less than BM: they are 0.
          blocks, zeros<float>(shape<BM, D>),
          [&](auto j, auto dq0) {
            tile k = load(K, shape<BN, D>, g[0], j, 0, pad(0));
            tile key = iota(shape<1, BN>, axis<1>) + j * BN;
            tile all = dot(q, trans(k)) * (scale * log2_of_e),
                 dp = dot(go, trans(load(V, shape<BN, D>, g[0], j, 0, pad(0))));
            tile scores = [&] {
              if constexpr (causal) return tile(select(key <= query, all, -inf));
              if constexpr (!causal) return tile(mask_outside(all, axis<1>, j, K.extent(1), -inf));
            }();
            tile ds = exp2(scores - reference) * (dp - mean);
            return dot(cast<bf16>(ds), k, dq0);
          },
          stages<2>);
      store(dQ, shape<BM, D>, cast<bf16>(dq * scale), g[0], g[1], 0);
    });

/// Prepares attention_backward: computes delta, as attention_delta does, and clears the sums of dQ.
template <int BM, int D>
inline constexpr auto attention_backward_start =
    kernel("attention_backward_start", [](in<bf16, 3> O, in<bf16, 3> dO, out<float, 2> delta, out<float, 3> sums) {
      auto g = grid_over(delta, shape<BM>);
      store_delta<BM, D>(O, dO, delta, g);
      store(sums, shape<BM, D>, 0, g[0], g[1], 0);
    });

/// Computes the gradients of attention_with_lse, a block of keys at a time. Each block adds its part of dQ / scale to
/// `sums`, in no order, so that the last bits of dQ differ from run to run.
template <int BM, int BN, int D, bool causal = true>
inline constexpr auto attention_backward = kernel("attention_backward", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                           in<bf16, 3> dO, in<float, 2> lse,
                                                                           in<float, 2> delta, inout<float, 3> sums,
                                                                           out<bf16, 3> dK, out<bf16, 3> dV,
                                                                           arg<float> scale) {
  keys_backward<BM, BN, D, causal>(Q, K, V, dO, lse, delta, dK, dV, scale,
                                   [&](auto const& ds, auto const& k, auto const& i, auto const& head) {
                                     atomic_add(sums, shape<BM, D>, dot(trans(ds), k), head, i, 0);
                                   });
});

/// Rounds the sums of attention_backward: dQ = scale * sums.
template <int BM, int D>
inline constexpr auto attention_backward_end = kernel("attention_backward_end", [](in<float, 3> sums, out<bf16, 3> dQ,
                                                                                   arg<float> scale) {
  auto g = grid_over(dQ, shape<BM, D>);
  store(dQ, shape<BM, D>, cast<bf16>(load(sums, shape<BM, D>, g[0], g[1], 0) * scale), g[0], g[1], 0);
});

}  // namespace samples
