// Defines recurrences over tokens whose state is a matrix, computed in chunks of tokens by products: state-space models
// and the gated delta rule. A program that launches these includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

/// Loads Q x W elements of a tensor (batch, tokens, heads, W) for one head. Tokens behind the last are 0.
template <int Q, int W, class Tensor, class Batch, class Chunk, class Head>
auto tokens_of_head(Tensor const& from, Batch const& batch, Chunk const& chunk, Head const& head) {
  return reshape(load(from, shape<1, Q, 1, W>, batch, chunk, head, 0), shape<Q, W>);
}

/// Computes y(t) = state(t)^T c(t) of state(t) = exp(rate dt(t)) state(t - 1) + dt(t) b(t) x(t)^T, from state 0. x and
/// y are (batch, tokens, heads, P), b and c (batch, tokens, groups, N): neighbouring heads share a group. dt is (batch,
/// tokens, heads), rates (heads). A block computes all tokens of a head, Q at once: what a chunk adds by a masked
/// product, what came before by the state, which is N x P.
template <int Q, int N, int P>
inline constexpr auto state_space = kernel("state_space", [](in<bf16, 4> x, in<float, 3> dt, in<float, 1> rates,
                                                             in<bf16, 4> b, in<bf16, 4> c, out<bf16, 4> y) {
  require((x.extent(3) == P) & (b.extent(3) == N) & (c.extent(3) == N), "state_space: widths are those of the kernel");
  require(x.extent(2) % b.extent(2) == 0, "state_space: each group has the same number of heads");
  auto g = grid(x.extent(0), x.extent(2));
  auto group = g[1] / (x.extent(2) / b.extent(2));
  auto rate = load(rates, g[1]);
  tile to = expand_dims(iota<int>(shape<Q>, axis<0>), axis<1>);
  tile from = trans(to);
  loop(
      ceil_div(x.extent(1), Q), zeros<float>(shape<N, P>),
      [&](auto chunk, auto state) {
        tile step = load(dt, shape<Q, 1>, g[0], chunk, g[1]);
        tile decay = cumsum(step * rate, axis<0>);
        tile decay_of_all = sum(step * rate, axis<0>);
        tile xs = tokens_of_head<Q, P>(x, g[0], chunk, g[1]);
        tile bs = tokens_of_head<Q, N>(b, g[0], chunk, group);
        tile cs = tokens_of_head<Q, N>(c, g[0], chunk, group);
        tile weights = select(to >= from, dot(cs, trans(bs)) * exp(decay - trans(decay)) * trans(step), 0);
        tile before = dot(cs, cast<bf16>(state)) * exp(decay);
        tile out = cast<bf16>(dot(cast<bf16>(weights), xs, before));
        store(y, shape<1, Q, 1, P>, reshape(out, shape<1, Q, 1, P>), g[0], chunk, g[1], 0);
        tile left = cast<float>(bs) * (exp(decay_of_all - decay) * step);  // of each b at the end of the chunk
        return dot(trans(cast<bf16>(left)), xs, state * exp(decay_of_all));
      },
      stages<2>);
});

/// Inverts 1 - m of a Q x Q matrix m below the diagonal. `inverse`: of the blocks of S x S on the diagonal. Two blocks
/// A and B with C below A and beside B give A^-1, B^-1 and, below, B^-1 C A^-1.
template <int S, int Q, class Inverse, class Matrix, class Row, class Column>
auto inverse_of_triangle(Inverse const& inverse, Matrix const& m, Row const& row, Column const& column) {
  if constexpr (S == Q) {
    return inverse;
  } else {
    tile below = select((row / (2 * S) == column / (2 * S)) & (row / S > column / S), m, 0);
    tile blocks = cast<f16>(inverse);
    tile half = cast<f16>(dot(cast<f16>(below), blocks));
    tile larger = dot(blocks, half, inverse);
    return inverse_of_triangle<2 * S, Q>(larger, m, row, column);
  }
}

/// The gated delta rule computes o(t) = state(t)^T q(t), from state 0:
/// state(t) = exp(g(t)) (state(t - 1) - beta(t) k(t) k(t)^T state(t - 1)) + beta(t) k(t) v(t)^T.
/// q and k are (batch, tokens, heads, K), v and o (batch, tokens, heads, V), g <= 0 and beta (batch, tokens, heads). k
/// should have length 1. Two launches compute it in chunks of Q tokens, a power of two.
///
/// This one does what no state is needed for, all chunks at once. What a token of a chunk takes of those before it is a
/// matrix below the diagonal; the inverse of 1 plus this makes `values` of v, and `keys` of k: what a chunk adds to the
/// state, for a state of 0, and what it takes of the state for each key.
template <int Q, int K, int V>
inline constexpr auto delta_rule_chunks = kernel("delta_rule_chunks", [](in<bf16, 4> k, in<bf16, 4> v,
                                                                         in<float, 3> gates, in<float, 3> betas,
                                                                         out<bf16, 4> keys, out<bf16, 4> values) {
  require((k.extent(3) == K) & (v.extent(3) == V), "delta_rule_chunks: widths are those of the kernel");
  auto g = grid(ceil_div(k.extent(1), Q), k.extent(2), k.extent(0));
  auto chunk = g[0], head = g[1], batch = g[2];
  tile to = expand_dims(iota<int>(shape<Q>, axis<0>), axis<1>);
  tile from = trans(to);
  tile beta = load(betas, shape<Q, 1>, batch, chunk, head);
  tile decay = cumsum(load(gates, shape<Q, 1>, batch, chunk, head), axis<0>);
  tile ks = tokens_of_head<Q, K>(k, batch, chunk, head);
  tile vs = tokens_of_head<Q, V>(v, batch, chunk, head);
  tile taken = select(to > from, dot(ks, trans(ks)) * exp(decay - trans(decay)) * -beta, 0);
  tile pairs = select(to == from, 1, select(to / 2 == from / 2, taken, 0));
  tile inverse = inverse_of_triangle<2, Q>(pairs, taken, to, from) * trans(beta);
  tile all_keys = cast<bf16>(dot(cast<bf16>(inverse * exp(trans(decay))), ks));
  tile all_values = cast<bf16>(dot(cast<bf16>(inverse), vs));
  store(keys, shape<1, Q, 1, K>, reshape(all_keys, shape<1, Q, 1, K>), batch, chunk, head, 0);
  store(values, shape<1, Q, 1, V>, reshape(all_values, shape<1, Q, 1, V>), batch, chunk, head, 0);
});

/// This one takes them, and computes all tokens for BV columns of a head's state, Q tokens at once.
template <int Q, int K, int BV>
inline constexpr auto delta_rule_states = kernel("delta_rule_states", [](in<bf16, 4> q, in<bf16, 4> k, in<bf16, 4> keys,
                                                                         in<bf16, 4> values, in<float, 3> gates,
                                                                         out<bf16, 4> o) {
  require((q.extent(3) == K) & (k.extent(3) == K), "delta_rule_states: widths are those of the kernel");
  auto g = grid(q.extent(0), q.extent(2), ceil_div(o.extent(3), BV));
  tile to = expand_dims(iota<int>(shape<Q>, axis<0>), axis<1>);
  tile from = trans(to);
  loop(
      ceil_div(q.extent(1), Q), zeros<float>(shape<K, BV>),
      [&](auto chunk, auto state) {
        tile gate = load(gates, shape<Q, 1>, g[0], chunk, g[1]);
        tile decay = cumsum(gate, axis<0>);
        tile decay_of_all = sum(gate, axis<0>);
        tile qs = tokens_of_head<Q, K>(q, g[0], chunk, g[1]);
        tile ks = tokens_of_head<Q, K>(k, g[0], chunk, g[1]);
        tile old = cast<bf16>(state);
        tile own = cast<float>(reshape(load(values, shape<1, Q, 1, BV>, g[0], chunk, g[1], g[2]), shape<Q, BV>));
        tile added = cast<bf16>(own - dot(tokens_of_head<Q, K>(keys, g[0], chunk, g[1]), old));
        tile weights = select(to >= from, dot(qs, trans(ks)) * exp(decay - trans(decay)), 0);
        tile before = dot(qs, old) * exp(decay);
        tile out = cast<bf16>(dot(cast<bf16>(weights), added, before));
        store(o, shape<1, Q, 1, BV>, reshape(out, shape<1, Q, 1, BV>), g[0], chunk, g[1], g[2]);
        tile left = cast<float>(ks) * exp(decay_of_all - decay);
        return dot(trans(cast<bf16>(left)), added, state * exp(decay_of_all));
      },
      stages<2>);
});

}  // namespace samples
