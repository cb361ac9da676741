// The kernels of a llama model whose weights stay in 4 and 8 bits, as the blocks of the gguf file hold them.
//
// A row is one token of one sequence. Activations are f32 of shape (rows, width / 32, 32): the last two axes are those
// of the blocks of weights. A whole row is one tile, also where its width is not a power of two.
//
// | one row (decode)      | many rows (prefill, batches)  | does |
// |---|---|---|
// | embed                 | embed                         | token -> row of the table |
// | heads                 | normalize, product, rotate    | RMSNorm, then queries, keys, values; both first are rotated
// | | attend                | attend_rows                   | softmax(q k^T / 8) v over the cache | | add_product |
// product                       | x += W a | | gated                 | normalize, product, gate      | silu(gate) * up
// | | logits                | logits                        | RMSNorm, then a product with the table of embeddings | |
// sample                | sample                        | the next token |
#pragma once

#include <tegula/tegula.hpp>

namespace smollm {

// Generic lambdas read better without the prefix; this header is for the files of this folder alone.
using namespace tegula;  // NOLINT(google-build-using-namespace)

inline constexpr int block = 32;                            // weights of a block
inline constexpr int head = 64;                             // width of a head
inline constexpr float score_scale = 0.125F * 1.44269504F;  // 1 / sqrt(64), for exp2

/// Holds rows of `Width` weights of Q4_1: w = scale * bits + minimum. Byte i of a block holds weights i and i + 16.
template <int Width>
struct Q4 {
  in<std::uint8_t, 3, along<1, fixed<Width / block>>, along<2, fixed<block / 2>>> bits;
  in<f16, 3, along<1, fixed<Width / block>>, along<2, fixed<2>>> scales;  // scale, minimum
};

/// Holds rows of `Width` weights of Q8_0: w = scale * bits.
template <int Width>
struct Q8 {
  in<std::int8_t, 3, along<1, fixed<Width / block>>, along<2, fixed<block>>> bits;
  in<f16, 3, along<1, fixed<Width / block>>, along<2, fixed<1>>> scales;
};

template <int Width, template <class, int, class...> class Access>
using Rows = Access<float, 3, along<1, fixed<Width / block>>, along<2, fixed<block>>>;

template <int Width>
using Gains = Rows<Width, in>;  // one row

/// Multiplies `N` rows of weights by one activation, given as its lower and upper halves of blocks (1, blocks, 16).
template <int N, int Width, class Low, class High, class Index>
auto multiply(Q4<Width> const& w, Low const& low, High const& high, Index const& n) {
  constexpr int blocks = Width / block;
  tile bits = cast<int>(load(w.bits, shape<N, blocks, block / 2>, n, 0, 0));
  tile scale = cast<float>(load(w.scales, shape<N, blocks, 1>, n, 0, 0));
  tile minimum = cast<float>(load(w.scales, shape<N, blocks, 1>, n, 0, 1));
  tile products = cast<float>(bits & 15) * low + cast<float>(bits >> 4) * high;
  return let(sum(scale * products + minimum * (low + high), axis<1, 2>));  // (N, 1, 1)
}

/// Divides row `i` by its root mean square and multiplies it by the gains; gives the halves of its blocks.
template <int Width, class Index>
auto normalized(Rows<Width, in> const& x, Gains<Width> const& gains, Index const& i, arg<float> const& epsilon) {
  constexpr auto half = shape<1, Width / block, block / 2>;
  tile low = load(x, half, i, 0, 0), high = load(x, half, i, 0, 1);
  tile scale = rsqrt(sum(low * low + high * high, axis<1, 2>) / static_cast<float>(Width) + epsilon);
  return let(carry(low * scale * load(gains, half, 0, 0, 0), high * scale * load(gains, half, 0, 0, 1)));
}

/// Copies the rows of the tokens out of the table.
template <int Width>
inline constexpr auto embed = kernel("embed", [](in<int, 1> tokens, Q8<Width> table, Rows<Width, out> x) {
  constexpr int blocks = Width / block;
  auto g = grid(x.extent(0));
  auto token = load(tokens, g[0]);
  tile bits = cast<float>(load(table.bits, shape<1, blocks, block>, token, 0, 0));
  store(x, shape<1, blocks, block>, bits * cast<float>(load(table.scales, shape<1, blocks, 1>, token, 0, 0)), g[0], 0,
        0);
});

/// Multiplies neighbours (2 i, 2 i + 1) of a head by the rotation by their angle at a position.
template <class Tile, class Position>
auto rotated(Tile const& y, in<float, 3> const& rotation, Position const& position) {
  tile cosine = reshape(load(rotation, shape<1, 1, head / 2>, position, 0, 0), shape<head / 2>);
  tile sine = reshape(load(rotation, shape<1, 1, head / 2>, position, 1, 0), shape<head / 2>);
  auto [even, odd] = split(reshape(y, shape<head / 2, 2>));
  return let(join(even * cosine - odd * sine, even * sine + odd * cosine));
}

/// Holds the cache of a layer, (sequences, heads, places, 64), for a kernel that writes to it.
struct Cache {
  inout<float, 4> keys, values;
};

/// Normalizes x and computes one head of one row: a query, or a key or a value, which go to the row's place in the
/// cache.
template <int Width>
inline constexpr auto heads = kernel("heads", [](Rows<Width, in> x, Gains<Width> gains, Q4<Width> wq, Q4<Width> wk,
                                                 Q4<Width> wv, in<float, 3> rotation, in<int, 1> sequences,
                                                 in<int, 1> positions, out<float, 3> q, Cache cache,
                                                 arg<float> epsilon) {
  auto queries = q.extent(1), keys = cache.keys.extent(1);
  auto g = grid(x.extent(0), queries + 2 * keys);
  auto sequence = load(sequences, g[0]), position = load(positions, g[0]);
  auto [low, high] = normalized<Width>(x, gains, g[0], epsilon);
  if_(
      g[1] < queries,
      [&] {
        tile y = rotated(multiply<head>(wq, low, high, g[1]), rotation, position);
        store(q, shape<1, 1, head>, reshape(y, shape<1, 1, head>), g[0], g[1], 0);
      },
      [&] {
        if_(
            g[1] < queries + keys,
            [&] {
              tile y = rotated(multiply<head>(wk, low, high, g[1] - queries), rotation, position);
              store(cache.keys, shape<head>, reshape(y, shape<head>), sequence, g[1] - queries, position, 0);
            },
            [&] {
              tile y = reshape(multiply<head>(wv, low, high, g[1] - queries - keys), shape<head>);
              store(cache.values, shape<head>, y, sequence, g[1] - queries - keys, position, 0);
            });
      });
});

/// Computes attention of one query over the cached keys up to its position, `BN` at a time. Values behind that are
/// multiplied by 0: the cache must hold numbers everywhere.
template <int BN>
inline constexpr auto attend = kernel("attend", [](in<float, 3> q, in<float, 4> keys, in<float, 4> values,
                                                   in<int, 1> sequences, in<int, 1> positions, out<float, 3> o) {
  auto g = grid(q.extent(0), q.extent(1));
  auto sequence = load(sequences, g[0]);
  auto count = load(positions, g[0]) + 1;
  auto key_head = g[1] / (q.extent(1) / keys.extent(1));
  tile query = reshape(load(q, shape<1, 1, head>, g[0], g[1], 0), shape<1, head>) * score_scale;
  auto [sums, top, total] =
      loop((count + (BN - 1)) / BN,
           carry(zeros<float>(shape<1, head>), full<float>(shape<1, 1>, -inf), zeros<float>(shape<1, 1>)),
           [&](auto j, auto o0, auto top0, auto total0) {
             tile scores = sum(load(keys, shape<BN, head>, sequence, key_head, j, 0) * query, axis<1>);
             tile kept = mask_outside(scores, axis<0>, j, count, -inf);
             tile higher = max(top0, max(kept, axis<0>));
             tile p = exp2(kept - higher);
             tile old = exp2(top0 - higher);
             tile more = sum(p * load(values, shape<BN, head>, sequence, key_head, j, 0), axis<0>);
             return carry(o0 * old + more, higher, total0 * old + sum(p, axis<0>));
           });
  store(o, shape<1, 1, head>, reshape(sums / total, shape<1, 1, head>), g[0], g[1], 0);
});

/// Adds W a to x, `N` elements a block.
template <int N, int Width>
inline constexpr auto add_product = kernel("add_product", [](Q4<Width> w, Rows<Width, in> a, inout<float, 2> x) {
  require(w.bits.extent(0) == x.extent(1), "add_product: W has a row for each element of x");
  auto g = grid_over(x, shape<1, N>);
  tile low = load(a, shape<1, Width / block, block / 2>, g[0], 0, 0);
  tile high = load(a, shape<1, Width / block, block / 2>, g[0], 0, 1);
  tile y = reshape(multiply<N>(w, low, high, g[1]), shape<1, N>);
  store(x, shape<1, N>, load(x, shape<1, N>, g[0], g[1]) + y, g[0], g[1]);
});

inline constexpr auto silu = function("silu", [](auto x) { return x * sigmoid(x); });

/// Normalizes x and computes silu(W_gate x) * (W_up x), `N` elements a block.
template <int N, int Width>
inline constexpr auto gated = kernel("gated", [](Rows<Width, in> x, Gains<Width> gains, Q4<Width> gate, Q4<Width> up,
                                                 out<float, 2> h, arg<float> epsilon) {
  require((gate.bits.extent(0) == h.extent(1)) & (up.bits.extent(0) == h.extent(1)),
          "gated: W has a row for each element of h");
  auto g = grid_over(h, shape<1, N>);
  auto [low, high] = normalized<Width>(x, gains, g[0], epsilon);
  tile a = multiply<N>(gate, low, high, g[1]), b = multiply<N>(up, low, high, g[1]);
  store(h, shape<1, N>, reshape(silu(a) * b, shape<1, N>), g[0], g[1]);
});

inline constexpr int group = 32;  // logits that share a maximum

/// Normalizes x and multiplies it by the table of embeddings, `N` tokens a block. `best` gets the maximum of each
/// group, so that the next kernel looks at few logits.
template <int N, int Width>
inline constexpr auto logits = kernel("logits", [](Rows<Width, in> x, Gains<Width> gains, Q8<Width> table,
                                                   out<float, 2> y, out<float, 2> best, arg<float> epsilon) {
  constexpr int blocks = Width / block;
  require(table.bits.extent(0) == y.extent(1), "logits: the table has a row for each token");
  require(ceil_div(y.extent(1), group) == best.extent(1), "logits: each group of 32 has a maximum");
  auto g = grid_over(y, shape<1, N>);
  auto [low, high] = normalized<Width>(x, gains, g[0], epsilon);
  tile scale = cast<float>(load(table.scales, shape<N, blocks, 1>, g[1], 0, 0));
  tile products = cast<float>(load(table.bits, shape<N, blocks, block / 2>, g[1], 0, 0)) * low +
                  cast<float>(load(table.bits, shape<N, blocks, block / 2>, g[1], 0, 1)) * high;
  tile all = reshape(sum(scale * products, axis<1, 2>), shape<1, N>);
  store(y, shape<1, N>, all, g[0], g[1]);
  tile inside = mask_outside(all, axis<1>, g[1], y.extent(1), -inf);
  tile maxima = max(reshape(inside, shape<N / group, group>), axis<1>);
  store(best, shape<1, N / group>, reshape(maxima, shape<1, N / group>), g[0], g[1]);
});

// --- many rows ---

/// Divides each row by its root mean square, and multiplies by the gains.
template <int Width>
inline constexpr auto normalize = kernel("normalize", [](Rows<Width, in> x, Gains<Width> gains, Rows<Width, out> y,
                                                         arg<float> epsilon) {
  auto g = grid(x.extent(0));
  auto [low, high] = normalized<Width>(x, gains, g[0], epsilon);
  store(y, shape<1, Width / block, block / 2>, low, g[0], 0, 0);
  store(y, shape<1, Width / block, block / 2>, high, g[0], 0, 1);
});

/// Multiplies many rows by W, dequantised to `T` block by block; `add` adds them to y. The lower and the upper halves
/// of the blocks are two sums, so that no byte has to be taken apart.
template <class T, int BM, int BN, int Width, bool add = false>
inline constexpr auto product = kernel("product", [](Q4<Width> w, Rows<Width, in> a, inout<float, 2> y) {
  require(w.bits.extent(0) == y.extent(1), "product: W has a row for each column of y");
  constexpr int step = 6;  // blocks of one iteration: 18 and 48 are multiples
  static_assert(Width % (step * block) == 0);
  auto g = grid_over(y, shape<BM, BN>);
  auto half = [&](auto upper, auto start) {
    return loop(Width / (step * block), start, [&](auto k, auto so_far) {
      tile bits = cast<int>(load(w.bits, shape<BN, step, block / 2>, g[1], k, 0));
      tile scale = cast<float>(load(w.scales, shape<BN, step, 1>, g[1], k, 0));
      tile minimum = cast<float>(load(w.scales, shape<BN, step, 1>, g[1], k, 1));
      tile part = upper.value == 0 ? let(bits & 15) : let(bits >> 4);
      tile weights = cast<T>(cast<float>(part) * scale + minimum);
      tile rows = cast<T>(load(a, shape<BM, step, block / 2>, g[0], k, upper.value));
      return dot(reshape(rows, shape<BM, step * block / 2>), trans(reshape(weights, shape<BN, step * block / 2>)),
                 so_far);
    });
  };
  if constexpr (add) {
    tile start = load(y, shape<BM, BN>, g[0], g[1]);
    store(y, shape<BM, BN>, half(1_c, half(0_c, start)), g[0], g[1]);
  } else {
    tile start = zeros<float>(shape<BM, BN>);
    store(y, shape<BM, BN>, half(1_c, half(0_c, start)), g[0], g[1]);
  }
});

/// Rotates queries and keys, and puts keys and values at their places in the cache. qkv: (rows, all heads, 64).
inline constexpr auto rotate = kernel("rotate", [](in<float, 3> qkv, in<float, 3> rotation, in<int, 1> sequences,
                                                   in<int, 1> positions, out<float, 3> q, Cache cache) {
  auto queries = q.extent(1), keys = cache.keys.extent(1);
  require(qkv.extent(1) == queries + 2 * keys, "rotate: all heads of queries, keys and values are expected");
  auto g = grid(qkv.extent(0), qkv.extent(1));
  auto sequence = load(sequences, g[0]), position = load(positions, g[0]);
  tile y = reshape(load(qkv, shape<1, 1, head>, g[0], g[1], 0), shape<head>);
  if_(
      g[1] < queries + keys,
      [&] {
        tile r = reshape(rotated(y, rotation, position), shape<head>);
        if_(
            g[1] < queries, [&] { store(q, shape<head>, r, g[0], g[1], 0); },
            [&] { store(cache.keys, shape<head>, r, sequence, g[1] - queries, position, 0); });
      },
      [&] { store(cache.values, shape<head>, y, sequence, g[1] - queries - keys, position, 0); });
});

/// Computes causal attention of `BM` rows of one sequence over its cached keys, `BN` at a time.
template <class T, int BM, int BN>
inline constexpr auto attend_rows = kernel("attend_rows", [](in<float, 3> q, in<float, 4> keys, in<float, 4> values,
                                                             in<int, 1> positions, out<float, 3> o, arg<int> sequence) {
  auto g = grid(ceil_div(q.extent(0), BM), q.extent(1));
  auto key_head = g[1] / (q.extent(1) / keys.extent(1));
  tile position = expand_dims(load(positions, shape<BM>, g[0], pad(0)), axis<1>);
  tile query = cast<T>(squeeze(load(q, shape<BM, 1, head>, g[0], g[1], 0), axis<1>) * score_scale);
  auto [sums, top, total] =
      loop((max(position) + BN) / BN,
           carry(zeros<float>(shape<BM, head>), full<float>(shape<BM, 1>, -inf), zeros<float>(shape<BM, 1>)),
           [&](auto j, auto o0, auto top0, auto total0) {
             tile key = cast<T>(load(keys, shape<BN, head>, sequence, key_head, j, 0));
             tile place = iota<int>(shape<1, BN>, axis<1>) + cast<int>(j * BN);
             tile scores = select(place <= position, dot(query, trans(key)), -inf);
             tile higher = max(top0, max(scores, axis<1>));
             tile p = exp2(scores - higher);
             tile old = exp2(top0 - higher);
             tile value = cast<T>(load(values, shape<BN, head>, sequence, key_head, j, 0));
             return carry(dot(cast<T>(p), value, o0 * old), higher, total0 * old + sum(p, axis<1>));
           });
  store(o, shape<BM, 1, head>, expand_dims(sums / total, axis<1>), g[0], g[1], 0);
});

/// Computes silu(gate) * up.
template <int N>
inline constexpr auto gate = kernel("gate", [](in<float, 2> gates, in<float, 2> ups, out<float, 2> h) {
  auto g = grid_over(h, shape<1, N>);
  store(h, shape<1, N>, silu(load(gates, shape<1, N>, g[0], g[1])) * load(ups, shape<1, N>, g[0], g[1]), g[0], g[1]);
});

// --- the next token ---

inline constexpr int candidates = 64;  // tokens among which `sample` chooses
inline constexpr int groups = 1536;    // at most: 49152 tokens

/// Takes the token with the highest logit, and moves each row to its next position.
inline constexpr auto take_best =
    kernel("take_best", [](in<float, 2> y, in<float, 2> best, out<int, 1> tokens, inout<int, 1> positions) {
      require(best.extent(1) <= groups, "take_best: at most 49152 tokens");
      auto g = grid(y.extent(0));
      auto highest = argmax(load(best, shape<1, groups>, g[0], 0, pad(-inf)));
      auto place = argmax(load(y, shape<1, group>, g[0], highest, pad(-inf)));
      store(tokens, shape<1>, highest * group + place, g[0]);
      store(positions, shape<1>, load(positions, shape<1>, g[0]) + 1, g[0]);
    });

/// Draws a token: of the `count` highest logits, those that make up `share` of the probability at this temperature. The
/// 64 highest logits lie in the 64 groups with the highest maxima.
inline constexpr auto sample = kernel("sample", [](in<float, 2> y, in<float, 2> best, out<int, 1> tokens,
                                                   inout<int, 1> positions, arg<float> temperature, arg<int> count,
                                                   arg<float> share, arg<std::int64_t> seed) {
  require(best.extent(1) <= groups, "sample: at most 49152 tokens");
  auto g = grid(y.extent(0));
  auto [maxima, where] = top_k<candidates>(load(best, shape<1, groups>, g[0], 0, pad(-inf)), axis<1>);
  tile ids = trans(where) * group + iota<int>(shape<1, group>, axis<1>);  // (64, 32)
  tile all = reshape(gather(y, g[0], ids, pad(-inf)), shape<1, candidates * group>);
  auto [logit, place] = top_k<candidates>(all, axis<1>);
  tile rank = iota<int>(shape<1, candidates>, axis<1>);
  tile p = select(rank < count, exp((logit - max(logit, axis<1>)) / temperature), 0);
  tile before = cumsum(p, axis<1>, exclusive);
  tile kept = select((before < share * sum(p, axis<1>)) | (rank == 0), p, 0);
  tile position = load(positions, shape<1>, g[0]);
  tile draw = random_uniform(seed, reshape(position, shape<1, 1>) + cast<int>(g[0]) * (1 << 20)) * sum(kept, axis<1>);
  // Rounding may leave the draw at the very end: the last kept token is taken then.
  tile chosen = min(sum(cast<int>(cumsum(kept, axis<1>) <= draw), axis<1>), sum(cast<int>(kept > 0), axis<1>) - 1);
  tile at = sum(select(rank == chosen, place, 0), axis<1>);  // among the 64 x 32
  tile first = sum(select(rank == at / group, where, 0), axis<1>) * group;
  store(tokens, shape<1>, reshape(first + at % group, shape<1>), g[0]);
  store(positions, shape<1>, position + 1, g[0]);
});

}  // namespace smollm
