// Defines the kernels of a llama model whose weights stay in 4 and 8 bits, as the blocks of the gguf file hold them.
//
// A row is one token of one sequence. Activations are f32 of shape (rows, width / 32, 2, 4, 4): blocks as those of the
// weights, their halves, and four bytes of four words. A whole row is one tile, also where its width is not a power of
// two.
//
// | one row (decode)  | many rows (prefill, batches)    | does                                              |
// |-------------------|---------------------------------|---------------------------------------------------|
// | embed             | embed                           | token -> row of the table                         |
// | heads             | normalize, product, rotate      | queries, keys, values; the first two are rotated  |
// | attend            | attend_rows; attend and         | softmax(q k^T / 8) v over the cache               |
// |                   | join_attention                  |                                                   |
// | add_attention     | product                         | x += W a                                          |
// | gated             | normalize, gated_product        | silu(gate) * up                                   |
// | add_product       | product                         | x += W h                                          |
// | logits            | logits                          | RMSNorm, then a product with the table            |
// | take_best, sample | the same                        | the next token                                    |
#pragma once

#include <tegula/tegula.hpp>

namespace smollm {

// Generic lambdas read better without the prefix; this header is for the files of this folder alone.
using namespace tegula;  // NOLINT(google-build-using-namespace)

inline constexpr int block = 32;                            // weights of a block
inline constexpr int head = 64;                             // width of a head
inline constexpr float score_scale = 0.125F * 1.44269504F;  // 1 / sqrt(64), for exp2

/// Holds rows of `Width` weights of Q4_1: w = scale * bits + minimum. A block is five words. The first has the scale
/// and the minimum, which f16 views as elements 0 and 1; byte i of the others holds weights i and i + 16.
template <int Width>
struct Q4 {
  in<std::uint32_t, 4, along<1, fixed<Width / block>>, along<2, fixed<5>>, along<3, fixed<1>>> words;
  in<f16, 4, along<1, fixed<Width / block>>, along<2, fixed<10>>, along<3, fixed<1>>> scales;
};

/// Holds rows of `Width` weights of Q8_0: w = scale * bits.
template <int Width>
struct Q8 {
  in<std::int8_t, 4, along<1, fixed<Width / block>>, along<2, fixed<8>>, along<3, fixed<4>>> bits;
  in<f16, 4, along<1, fixed<Width / block>>, along<2, fixed<1>>, along<3, fixed<1>>> scales;
};

/// Views rows of activations as blocks of the table: eight words of four bytes.
template <int Width, template <class, int, class...> class Access>
using WordRows = Access<float, 4, along<1, fixed<Width / block>>, along<2, fixed<8>>, along<3, fixed<4>>>;

/// Views rows of activations as blocks, halves of a block, and four bytes of four words.
template <int Width, template <class, int, class...> class Access, class... Facts>
using Rows = Access<float, 5, along<1, fixed<Width / block>>, along<2, fixed<2>>, along<3, fixed<4>>,
                    along<4, fixed<4>>, Facts...>;

template <int Width>
using Gains = Rows<Width, in>;  // one row

/// Holds the lower and the upper halves of the blocks of a row.
template <std::int64_t Blocks>
struct Halves {
  tile<float, Shape<1, Blocks, 4, 4>> low, high;
};
template <int Width, class Tensor, class Index>
Halves<Width / block> halves(Tensor const& x, Index const& i) {
  constexpr auto half = shape<1, Width / block, 1, 4, 4>;
  return {tile(squeeze(load(x, half, i, 0, 0, 0, 0), axis<2>)), tile(squeeze(load(x, half, i, 0, 1, 0, 0), axis<2>))};
}

/// Holds `N` rows of weights of 4 bits. Loads of it stand first in a kernel: they run ahead of the launch before.
template <std::int64_t N, std::int64_t Blocks>
struct Weights {
  tile<std::uint32_t, Shape<N, Blocks, 4, 1>> words;
  tile<float, Shape<N, Blocks, 1, 1>> scale, minimum;
};
template <int N, int Width, class Index>
Weights<N, Width / block> weights(Q4<Width> const& w, Index const& n) {
  constexpr auto one = shape<N, Width / block, 1, 1>;
  return {tile(load(w.words, shape<N, Width / block, 4, 1>, elem(n * N), elem(0), elem(1), elem(0))),
          tile(cast<float>(load(w.scales, one, n, 0, 0, 0))), tile(cast<float>(load(w.scales, one, n, 0, 1, 0)))};
}

/// Multiplies rows of weights by an activation: (N, 1, 1, 1). Blocks are added before words: a thread holds many
/// blocks.
template <std::int64_t N, std::int64_t Blocks>
auto multiply(Weights<N, Blocks> const& w, Halves<Blocks> const& x) {
  tile shift = cast<std::uint32_t>(iota<int>(shape<1, 1, 1, 4>, axis<3>) * 8);
  tile low = cast<float>((w.words >> shift) & 15U), high = cast<float>((w.words >> (shift + 4U)) & 15U);
  tile products = sum(low * x.low + high * x.high, axis<3>);
  return let(sum(sum(w.scale * products + w.minimum * sum(x.low + x.high, axis<3>), axis<1>), axis<2>));
}

/// Multiplies row `i` by the gains; `scale` is 1 over its root mean square, by which results are multiplied.
template <std::int64_t Blocks>
struct Normal {
  Halves<Blocks> halves;
  tile<float, Shape<1, 1, 1, 1>> scale;
};
template <int Width, class Index>
Normal<Width / block> normalized(Rows<Width, in> const& x, Gains<Width> const& gains, Index const& i,
                                 arg<float> const& epsilon) {
  auto const gain = halves<Width>(gains, 0);
  auto const row = halves<Width>(x, i);
  tile squares = sum(sum(row.low * row.low + row.high * row.high, axis<1>), axis<2, 3>);
  return {{tile(row.low * gain.low), tile(row.high * gain.high)},
          tile(rsqrt(squares / static_cast<float>(Width) + epsilon))};
}

/// Copies the rows of the tokens out of the table.
template <int Width>
inline constexpr auto embed = kernel("embed", [](in<int, 1> tokens, Q8<Width> table, WordRows<Width, out> x) {
  constexpr int blocks = Width / block;
  auto g = grid(x.extent(0));
  auto token = load(tokens, g[0]);
  tile bits = cast<float>(load(table.bits, shape<1, blocks, 8, 4>, token, 0, 0, 0));
  tile scale = cast<float>(load(table.scales, shape<1, blocks, 1, 1>, token, 0, 0, 0));
  store(x, shape<1, blocks, 8, 4>, bits * scale, g[0], 0, 0, 0);
});

/// Views cosines and sines of all positions, (places, 2, 32).
using RotationTable = in<float, 3, along<1, fixed<2>>, along<2, fixed<head / 2>>>;

/// Holds cosines and sines of the angles by which `N` elements of a head are rotated.
template <int N>
struct Rotation {
  tile<float, Shape<N / 2>> cosine, sine;
};
/// Loads those of elements `first` * N and further at a position.
template <int N, class Position, class First>
Rotation<N> rotation_at(RotationTable const& table, Position const& position, First const& first) {
  constexpr auto half = shape<1, 1, N / 2>;
  return {tile(reshape(load(table, half, position, 0, first), shape<N / 2>)),
          tile(reshape(load(table, half, position, 1, first), shape<N / 2>))};
}
/// Rotates neighbours (2 i, 2 i + 1) of a head.
template <std::int64_t Half, class Tile>
auto rotated(Tile const& y, tile<float, Shape<Half>> const& cosine, tile<float, Shape<Half>> const& sine) {
  auto [even, odd] = split(reshape(y, shape<Half, 2>));
  return let(reshape(join(even * cosine - odd * sine, even * sine + odd * cosine), shape<2 * Half>));
}

/// Views the keys or the values of a layer, (sequences, heads, places, 64).
template <class T, template <class, int, class...> class Access>
using CacheView = Access<T, 4, along<3, fixed<head>>>;
/// Holds both for a kernel that writes to them.
template <class T>
struct Cache {
  CacheView<T, inout> keys, values;
};
/// Views heads of rows, (rows, heads, 64).
template <template <class, int, class...> class Access>
using HeadRows = Access<float, 3, along<2, fixed<head>>>;

/// Normalizes x and computes `N` elements of a head of a row: of a query, or of a key or a value, which go to the row's
/// place in the cache. The rows of W are those of all queries, then keys, then values. Row i belongs to sequence i.
template <class T, int N, int Width>
inline constexpr auto heads = kernel("heads", [](Rows<Width, in> x, Gains<Width> gains, Q4<Width> w,
                                                 RotationTable rotation, in<int, 1> positions, HeadRows<out> q,
                                                 Cache<T> cache, arg<float> epsilon) {
  constexpr int parts = head / N;
  auto queries = q.extent(1), keys = cache.keys.extent(1);
  require(w.words.extent(0) == (queries + 2 * keys) * head, "heads: W has the rows of all heads");
  auto g = grid(x.extent(0), queries + 2 * keys, parts);
  auto const matrix = weights<N>(w, g[1] * parts + g[2]);
  auto position = load(positions, g[0]);
  auto const turn = rotation_at<N>(rotation, position, g[2]);
  auto const normal = normalized<Width>(x, gains, g[0], epsilon);
  tile y = reshape(multiply(matrix, normal.halves) * normal.scale, shape<N>);
  if_(
      g[1] < queries + keys,
      [&] {
        tile r = rotated(y, turn.cosine, turn.sine);
        if_(
            g[1] < queries, [&] { store(q, shape<N>, r, g[0], g[1], g[2]); },
            [&] { store(cache.keys, shape<N>, cast<T>(r), g[0], g[1] - queries, position, g[2]); });
      },
      [&] { store(cache.values, shape<N>, cast<T>(y), g[0], g[1] - queries - keys, position, g[2]); });
});

/// Holds the parts of attention over some keys each: sums of values by weights 2^(score - top), and of the weights.
template <int Parts, template <class, int, class...> class Access, class... Facts>
struct AttentionParts {
  Access<float, 4, along<2, fixed<Parts>>, along<3, fixed<head>>, Facts...> sums;  ///< (rows, heads, parts, 64)
  Access<float, 3, along<2, fixed<Parts>>, Facts...> tops, totals;                 ///< (rows, heads, parts)
};
/// Holds the parts of `Heads` heads.
template <int Heads, int Parts>
using PartsOfHeads = AttentionParts<Parts, in, along<1, fixed<Heads>>>;

/// Computes attention of the `Group` queries that share a head of keys, over the cached keys up to their position. A
/// block takes each `Parts`-th `BN` keys. Where its first ones lie does not depend on the position: they are on their
/// way ahead of the launch before. Values behind the position are multiplied by 0: the cache must hold numbers. Row i
/// belongs to sequence i.
template <class T, int Group, int BN, int Parts>
inline constexpr auto attend = kernel("attend", [](HeadRows<in> q, CacheView<T, in> keys, CacheView<T, in> values,
                                                   in<int, 1> positions, AttentionParts<Parts, out> parts) {
  require(q.extent(1) == keys.extent(1) * Group, "attend: a head of keys serves `Group` queries");
  auto g = grid(q.extent(0), keys.extent(1), Parts);
  auto const loaded = [&](CacheView<T, in> const& from, auto const& j) {
    return let(expand_dims(cast<float>(load(from, shape<BN, head>, g[0], g[1], j, 0)), axis<0>));
  };
  tile first_key = loaded(keys, g[2]), first_value = loaded(values, g[2]);
  tile query = reshape(load(q, shape<1, Group, head>, g[0], g[1], 0), shape<Group, 1, head>) * score_scale;
  auto count = load(positions, g[0]) + 1;
  auto const scores = [&](auto const& key, auto const& j) {  // (Group, BN, 1)
    return let(mask_outside(sum(key * query, axis<2>), axis<1>, j, count, -inf));
  };
  tile kept = scores(first_key, g[2]);
  tile first_top = max(max(kept, axis<1>), -1e30F);  // a number, also where all keys are hidden
  tile p = exp2(kept - first_top);
  auto [sums, top, total] = loop(range(g[2] + Parts, (count + (BN - 1)) / BN, Parts),
                                 carry(sum(p * first_value, axis<1>), first_top, sum(p, axis<1>)),
                                 [&](auto j, auto sums0, auto top0, auto total0) {
                                   tile more = scores(loaded(keys, j), j);
                                   tile higher = max(top0, max(more, axis<1>));
                                   tile weights = exp2(more - higher);
                                   tile old = exp2(top0 - higher);
                                   return carry(sums0 * old + sum(weights * loaded(values, j), axis<1>), higher,
                                                total0 * old + sum(weights, axis<1>));
                                 });
  store(parts.sums, shape<1, Group, 1, head>, expand_dims(sums, axis<0>), g[0], g[1], g[2], 0);
  store(parts.tops, shape<1, Group, 1>, reshape(top, shape<1, Group, 1>), g[0], g[1], g[2]);
  store(parts.totals, shape<1, Group, 1>, reshape(total, shape<1, Group, 1>), g[0], g[1], g[2]);
});

/// Joins the parts of attention of a row: (heads, 1, 64).
template <int Heads, int Parts, class Index>
auto joined(PartsOfHeads<Heads, Parts> const& parts, Index const& row) {
  tile tops = load(parts.tops, shape<1, Heads, Parts>, row, 0, 0);
  tile weights = exp2(tops - max(tops, axis<2>));
  tile total = sum(weights * load(parts.totals, shape<1, Heads, Parts>, row, 0, 0), axis<2>);
  tile shares = reshape(weights / total, shape<Heads, Parts, 1>);
  tile sums = load(parts.sums, shape<Heads, Parts, head>, row, 0, 0, 0);
  return let(sum(sums * shares, axis<1>));
}

/// Joins the parts of attention a and adds W a to x, `N` elements a block.
template <int N, int Width, int Parts>
inline constexpr auto add_attention = kernel("add_attention", [](Q4<Width> w, PartsOfHeads<Width / head, Parts> parts,
                                                                 inout<float, 2> x) {
  require(w.words.extent(0) == x.extent(1), "add_attention: W has a row for each element of x");
  auto g = grid_over(x, shape<1, N>);
  constexpr int blocks = Width / block;
  constexpr auto half = shape<1, blocks, 1, 4, 4>;
  auto const matrix = weights<N>(w, g[1]);
  tile a = reshape(joined<Width / head, Parts>(parts, g[0]), shape<1, blocks, 2, 4, 4>);
  Halves<blocks> const both = {tile(squeeze(slice(a, half, offset<0, 0, 0, 0, 0>), axis<2>)),
                               tile(squeeze(slice(a, half, offset<0, 0, 1, 0, 0>), axis<2>))};
  tile y = reshape(multiply(matrix, both), shape<1, N>);
  store(x, shape<1, N>, load(x, shape<1, N>, g[0], g[1]) + y, g[0], g[1]);
});

/// Adds W a to x, `N` elements a block.
template <int N, int Width>
inline constexpr auto add_product = kernel("add_product", [](Q4<Width> w, Rows<Width, in> a, inout<float, 2> x) {
  require(w.words.extent(0) == x.extent(1), "add_product: W has a row for each element of x");
  auto g = grid_over(x, shape<1, N>);
  auto const matrix = weights<N>(w, g[1]);
  tile y = reshape(multiply(matrix, halves<Width>(a, g[0])), shape<1, N>);
  store(x, shape<1, N>, load(x, shape<1, N>, g[0], g[1]) + y, g[0], g[1]);
});

inline constexpr auto silu = function("silu", [](auto x) { return x * sigmoid(x); });

/// Normalizes x and computes silu(W_gate x) * (W_up x), `N` elements a block.
template <int N, int Width>
inline constexpr auto gated = kernel("gated", [](Rows<Width, in> x, Gains<Width> gains, Q4<Width> gate, Q4<Width> up,
                                                 out<float, 2> h, arg<float> epsilon) {
  require((gate.words.extent(0) == h.extent(1)) & (up.words.extent(0) == h.extent(1)),
          "gated: W has a row for each element of h");
  auto g = grid_over(h, shape<1, N>);
  auto const first = weights<N>(gate, g[1]), second = weights<N>(up, g[1]);
  auto const normal = normalized<Width>(x, gains, g[0], epsilon);
  tile a = multiply(first, normal.halves) * normal.scale, b = multiply(second, normal.halves) * normal.scale;
  store(h, shape<1, N>, reshape(silu(a) * b, shape<1, N>), g[0], g[1]);
});

inline constexpr int group = 16;  // logits that share a maximum

/// Normalizes x and multiplies it by the table of embeddings, `Groups` groups of tokens a block, one after another: so
/// many products share the row. `best` gets the maximum of each group, so that the next kernel looks at few logits.
template <int Groups, int Width>
inline constexpr auto logits = kernel("logits", [](WordRows<Width, in> x, WordRows<Width, in> gains, Q8<Width> table,
                                                   out<float, 2> y, out<float, 2> best, arg<float> epsilon) {
  constexpr int blocks = Width / block;
  constexpr auto row = shape<1, blocks, 8, 4>;
  require(table.bits.extent(0) == y.extent(1), "logits: the table has a row for each token");
  require(ceil_div(y.extent(1), group) == best.extent(1), "logits: each group of 16 has a maximum");
  auto g = grid(y.extent(0), ceil_div(best.extent(1), Groups));
  tile a = load(x, row, g[0], 0, 0, 0);
  tile scaled = a * load(gains, row, 0, 0, 0, 0);
  tile root = rsqrt(sum(sum(a * a, axis<1>), axis<2, 3>) / static_cast<float>(Width) + epsilon);
  loop(range(g[1] * Groups, min((g[1] + 1) * Groups, best.extent(1))), [&](auto j) {
    tile bits = load(table.bits, shape<group, blocks, 8, 4>, j, 0, 0, 0);
    tile scale = cast<float>(load(table.scales, shape<group, blocks, 1, 1>, j, 0, 0, 0));
    tile products = sum(cast<float>(bits) * scaled, axis<3>);
    tile all = reshape(sum(sum(scale * products, axis<1>), axis<2>) * root, shape<1, group>);
    store(y, shape<1, group>, all, g[0], j);
    store(best, shape<1, 1>, max(mask_outside(all, axis<1>, j, y.extent(1), -inf), axis<1>), g[0], j);
  });
});

// --- many rows ---

/// Divides each row by its root mean square, multiplies it by the gains and rounds it to `T`.
template <class T, int Width>
inline constexpr auto normalize = kernel("normalize", [](in<float, 2, along<1, fixed<Width>>> x,
                                                         in<float, 2, along<1, fixed<Width>>> gains, out<T, 2> y,
                                                         arg<float> epsilon) {
  auto g = grid(x.extent(0));
  tile row = load(x, shape<1, Width>, g[0], 0);
  tile scale = rsqrt(sum(row * row, axis<1>) / static_cast<float>(Width) + epsilon);
  store(y, shape<1, Width>, cast<T>(row * scale * load(gains, shape<1, Width>, 0, 0)), g[0], 0);
});

/// Makes `T` of 4-bit weights, `N` rows a block.
template <class T, int N, int Width>
inline constexpr auto unpack_rows = kernel("unpack_rows", [](Q4<Width> w, out<T, 5> y) {
  require(w.words.extent(0) == y.extent(0), "unpack_rows: y has a row for each row of W");
  auto g = grid(ceil_div(y.extent(0), N), y.extent(1));
  constexpr auto one = shape<N, 1, 1, 1>;
  tile words = load(w.words, shape<N, 1, 4, 1>, elem(g[0] * N), elem(g[1]), elem(1), elem(0));
  tile scale = cast<float>(load(w.scales, one, g[0], g[1], 0, 0));
  tile minimum = cast<float>(load(w.scales, one, g[0], g[1], 1, 0));
  tile shift = cast<std::uint32_t>(iota<int>(shape<1, 1, 1, 4>, axis<3>) * 8);
  tile low = cast<T>(cast<float>((words >> shift) & 15U) * scale + minimum);
  tile high = cast<T>(cast<float>((words >> (shift + 4U)) & 15U) * scale + minimum);
  store(y, shape<N, 1, 1, 4, 4>, expand_dims(low, axis<2>), g[0], g[1], 0, 0, 0);
  store(y, shape<N, 1, 1, 4, 4>, expand_dims(high, axis<2>), g[0], g[1], 1, 0, 0);
});

/// Multiplies rows a (M, K) by rows of weights w (N, K), and adds them to y if `add`.
template <class T, int BM, int BN, int BK, bool add = false>
inline constexpr auto product = kernel("product", [](in<T, 2> a, in<T, 2> w, inout<float, 2> y) {
  require(w.extent(0) == y.extent(1), "product: W has a row for each column of y");
  require(a.extent(1) == w.extent(1), "product: rows of a and of W are equally wide");
  auto g = grid_over(y, shape<BM, BN>);
  tile sums = loop(
      ceil_div(a.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto so_far) {
        return dot(load(a, shape<BM, BK>, g[0], k), trans(load(w, shape<BN, BK>, g[1], k)), so_far);
      },
      stages<4>);
  if constexpr (add)
    store(y, shape<BM, BN>, load(y, shape<BM, BN>, g[0], g[1]) + sums, g[0], g[1]);
  else
    store(y, shape<BM, BN>, sums, g[0], g[1]);
});

/// Computes silu(a W_gate) * (a W_up) of many rows.
template <class T, int BM, int BN, int BK>
inline constexpr auto gated_product = kernel("gated_product", [](in<T, 2> a, in<T, 2> gate, in<T, 2> up, out<T, 2> h) {
  require((gate.extent(0) == h.extent(1)) & (up.extent(0) == h.extent(1)),
          "gated_product: W has a row for each element of h");
  require((a.extent(1) == gate.extent(1)) & (a.extent(1) == up.extent(1)),
          "gated_product: rows of a and of W are equally wide");
  auto g = grid_over(h, shape<BM, BN>);
  auto [x, y] = loop(
      ceil_div(a.extent(1), BK), carry(zeros<float>(shape<BM, BN>), zeros<float>(shape<BM, BN>)),
      [&](auto k, auto x0, auto y0) {
        tile rows = load(a, shape<BM, BK>, g[0], k);
        return carry(dot(rows, trans(load(gate, shape<BN, BK>, g[1], k)), x0),
                     dot(rows, trans(load(up, shape<BN, BK>, g[1], k)), y0));
      },
      stages<3>);
  store(h, shape<BM, BN>, cast<T>(silu(x) * y), g[0], g[1]);
});

/// Rotates queries and keys, and puts keys and values at their places in the cache. qkv: (rows, all heads, 64).
template <class Q, class T>
inline constexpr auto rotate = kernel("rotate", [](in<float, 3> qkv, RotationTable rotation, in<int, 1> sequences,
                                                   in<int, 1> positions, out<Q, 3> q, Cache<T> cache) {
  auto queries = q.extent(1), keys = cache.keys.extent(1);
  require(qkv.extent(1) == queries + 2 * keys, "rotate: all heads of queries, keys and values are expected");
  auto g = grid(qkv.extent(0), qkv.extent(1));
  auto sequence = load(sequences, g[0]), position = load(positions, g[0]);
  auto const turn = rotation_at<head>(rotation, position, 0);
  tile y = reshape(load(qkv, shape<1, 1, head>, g[0], g[1], 0), shape<head>);
  if_(
      g[1] < queries + keys,
      [&] {
        tile r = rotated(y, turn.cosine, turn.sine);
        if_(
            g[1] < queries, [&] { store(q, shape<head>, cast<Q>(r), g[0], g[1], 0); },
            [&] { store(cache.keys, shape<head>, cast<T>(r), sequence, g[1] - queries, position, 0); });
      },
      [&] { store(cache.values, shape<head>, cast<T>(y), sequence, g[1] - queries - keys, position, 0); });
});

/// Computes causal attention of `BM` rows of one sequence over its cached keys, `BN` at a time. The rows stand at the
/// places from `first` on.
template <class T, class To, int BM, int BN>
inline constexpr auto attend_rows = kernel("attend_rows", [](in<T, 3> q, in<T, 4> keys, in<T, 4> values, out<To, 3> o,
                                                             arg<int> sequence, arg<int> first) {
  auto g = grid(ceil_div(q.extent(0), BM), q.extent(1));
  auto key_head = g[1] / (q.extent(1) / keys.extent(1));
  tile place = iota<int>(shape<BM, 1>, axis<0>) + cast<int>(g[0] * BM) + first;
  tile query = squeeze(load(q, shape<BM, 1, head>, g[0], g[1], 0), axis<1>);
  auto [sums, top, total] = loop(
      ceil_div((g[0] + 1) * BM + first, BN),
      carry(zeros<float>(shape<BM, head>), full<float>(shape<BM, 1>, -inf), zeros<float>(shape<BM, 1>)),
      [&](auto j, auto o0, auto top0, auto total0) {
        tile key = iota<int>(shape<1, BN>, axis<1>) + cast<int>(j * BN);
        tile products = dot(query, trans(load(keys, shape<BN, head>, sequence, key_head, j, 0)));
        tile scores = select(key <= place, products * score_scale, -inf);
        tile higher = max(top0, max(scores, axis<1>));
        tile p = exp2(scores - higher);
        tile old = exp2(top0 - higher);
        tile value = load(values, shape<BN, head>, sequence, key_head, j, 0);
        return carry(dot(cast<T>(p), value, o0 * old), higher, total0 * old + sum(p, axis<1>));
      },
      stages<2>);
  store(o, shape<BM, 1, head>, expand_dims(cast<To>(sums / total), axis<1>), g[0], g[1], 0);
});

/// Joins the parts of attention of many rows.
template <class To, int Heads, int Parts>
inline constexpr auto join_attention = kernel("join_attention", [](PartsOfHeads<Heads, Parts> parts, out<To, 3> o) {
  auto g = grid(o.extent(0));
  tile a = joined<Heads, Parts>(parts, g[0]);
  store(o, shape<1, Heads, head>, cast<To>(reshape(a, shape<1, Heads, head>)), g[0], 0, 0);
});

// --- the next token ---

inline constexpr int candidates = 64;  // tokens among which `sample` chooses
inline constexpr int groups = 3072;    // at most: 49152 tokens

/// Takes the token with the highest logit, and moves each row to its next position. `made` keeps the tokens of all
/// positions.
inline constexpr auto take_best = kernel(
    "take_best", [](in<float, 2> y, in<float, 2> best, out<int, 1> tokens, inout<int, 1> positions, out<int, 2> made) {
      require(best.extent(1) <= groups, "take_best: at most 49152 tokens");
      auto g = grid(y.extent(0));
      auto highest = argmax(load(best, shape<1, groups>, g[0], 0, pad(-inf)));
      auto token = highest * group + argmax(load(y, shape<1, group>, g[0], highest, pad(-inf)));
      auto position = load(positions, g[0]) + 1;
      store(tokens, shape<1>, token, g[0]);
      store(positions, shape<1>, position, g[0]);
      store(made, shape<1, 1>, token, g[0], position, may_be_outside);
    });

/// Draws a token: of the `count` highest logits, those that make up `share` of the probability at this temperature. The
/// 64 highest logits lie in the 64 groups with the highest maxima.
inline constexpr auto sample = kernel("sample", [](in<float, 2> y, in<float, 2> best, out<int, 1> tokens,
                                                   inout<int, 1> positions, out<int, 2> made, arg<float> temperature,
                                                   arg<int> count, arg<float> share, arg<std::int64_t> seed) {
  require(best.extent(1) <= groups, "sample: at most 49152 tokens");
  auto g = grid(y.extent(0));
  auto [maxima, where] = top_k<candidates>(load(best, shape<1, groups>, g[0], 0, pad(-inf)), axis<1>);
  tile ids = trans(where) * group + iota<int>(shape<1, group>, axis<1>);  // (64, 16)
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
  tile at = sum(select(rank == chosen, place, 0), axis<1>);  // among the 64 x 16
  tile first = sum(select(rank == at / group, where, 0), axis<1>) * group;
  tile token = reshape(first + at % group, shape<1>);
  store(tokens, shape<1>, token, g[0]);
  store(made, shape<1, 1>, reshape(token, shape<1, 1>), g[0], load(positions, g[0]) + 1, may_be_outside);
  store(positions, shape<1>, position + 1, g[0]);
});

}  // namespace smollm
