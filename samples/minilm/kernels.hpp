// Defines the kernels of BERT over rows without padding: a row is one token, and sentences lie one after another.
//
// | kernel      | does                                                              |
// |-------------|-------------------------------------------------------------------|
// | embed       | token and place -> row, normalized                                |
// | linear      | a W + bias, through gelu if asked                                 |
// | attend      | softmax(q k^T / sqrt(32)) v within the sentence of each row       |
// | linear_norm | x = norm(x + a W + bias); a block has whole rows                  |
// | pool        | the mean of a sentence's rows, of length 1                        |
#pragma once

#include <tegula/tegula.hpp>

#include "attention_kernels.hpp"
#include "sizes.hpp"

namespace minilm {

// Generic lambdas read better without the prefix; this header is for the files of this folder alone.
using namespace tegula;  // NOLINT(google-build-using-namespace)

inline constexpr float score_scale = 0.17677669F * samples::log2_of_e;  // 1 / sqrt(head), for exp2

template <class T, int Width, template <class, int, class...> class Access>
using Rows = Access<T, 2, along<1, fixed<Width>>>;

/// Holds the factors and the summands of a norm, a row each.
template <int Width>
struct Norm {
  Rows<float, Width, in> gain, shift;
};

/// Gives each row mean 0 and variance 1, then multiplies and shifts its elements.
template <int Width, class Tile>
auto normalized(Tile const& rows, Norm<Width> const& norm, arg<float> const& epsilon) {
  constexpr auto one = shape<1, Width>;
  constexpr auto count = static_cast<float>(Width);
  tile d = rows - sum(rows, axis<1>) / count;
  tile scale = rsqrt(sum(d * d, axis<1>) / count + epsilon);
  return let(d * scale * load(norm.gain, one, 0, 0) + load(norm.shift, one, 0, 0));
}

/// Makes the rows of a batch. Its first row is number `begin` of all tokens; `first` has the row, counted within the
/// batch, at which each token's sentence begins.
template <class T, int Width>
inline constexpr auto embed = kernel("embed", [](in<int, 1> tokens, in<int, 1> first, Rows<T, Width, in> words,
                                                 Rows<T, Width, in> places, Norm<Width> norm, Rows<T, Width, out> x,
                                                 arg<int> begin, arg<float> epsilon) {
  auto g = grid(x.extent(0));
  constexpr auto one = shape<1, Width>;
  auto token = load(tokens, g[0] + begin);
  auto place = cast<int>(g[0]) - load(first, g[0] + begin);
  tile row = cast<float>(load(words, one, token, 0)) + cast<float>(load(places, one, place, 0));
  store(x, one, cast<T>(normalized(row, norm, epsilon)), g[0], 0);
});

/// Multiplies a block of rows of a (M, K) by a block of columns of w (K, N).
template <int BM, int BN, int BK, class A, class W, class I, class J>
auto product(A const& a, W const& w, I const& i, J const& j) {
  return loop(
      ceil_div(a.extent(1), BK), zeros<float>(shape<BM, BN>),
      [&](auto k, auto sums) { return dot(load(a, shape<BM, BK>, i, k), load(w, shape<BK, BN>, k, j), sums); },
      stages<4>);
}

inline constexpr auto gelu = function("gelu", [](auto x) { return 0.5F * x * (1 + erf(x * 0.70710678F)); });

/// Computes y = a W + bias, or its gelu.
template <class T, int BM, int BN, int BK, bool activate>
inline constexpr auto linear = kernel("linear", [](in<T, 2> a, in<T, 2> w, in<float, 2> bias, out<T, 2> y) {
  require((a.extent(1) == w.extent(0)) & (w.extent(1) == y.extent(1)), "linear: W has other extents than a and y");
  auto g = grid_over(y, shape<BM, BN>);
  tile sums = product<BM, BN, BK>(a, w, g[0], g[1]);
  tile all = sums + load(bias, shape<1, BN>, 0, g[1]);
  if constexpr (activate)
    store(y, shape<BM, BN>, cast<T>(gelu(all)), g[0], g[1]);
  else
    store(y, shape<BM, BN>, cast<T>(all), g[0], g[1]);
});

/// Adds a W + bias to x, and normalizes its rows.
template <class T, int BM, int BK, int Width>
inline constexpr auto linear_norm = kernel("linear_norm", [](in<T, 2> a, in<T, 2> w, Rows<float, Width, in> bias,
                                                             Norm<Width> norm, Rows<T, Width, inout> x,
                                                             arg<float> epsilon) {
  require((a.extent(1) == w.extent(0)) & (w.extent(1) == x.extent(1)), "linear_norm: W has other extents than a and x");
  auto g = grid(ceil_div(x.extent(0), BM));
  tile sums = product<BM, Width, BK>(a, w, g[0], 0);
  tile all = sums + load(bias, shape<1, Width>, 0, 0) + cast<float>(load(x, shape<BM, Width>, g[0], 0));
  store(x, shape<BM, Width>, cast<T>(normalized(all, norm, epsilon)), g[0], 0);
});

/// Computes attention of `BM` rows, maybe of several sentences, over the rows of these sentences, `BN` at a time. A row
/// of qkv has all heads of queries, then of keys, then of values. `first` and `last` bound each row's sentence.
template <class T, int BM, int BN>
inline constexpr auto attend = kernel("attend", [](in<T, 2> qkv, in<int, 1> first, in<int, 1> last, out<T, 2> o,
                                                   arg<int> begin) {
  require(qkv.extent(1) == o.extent(1) * 3, "attend: qkv has all heads of queries, keys and values");
  auto heads = o.extent(1) / head;
  auto g = grid(ceil_div(o.extent(0), BM), heads);
  auto row = g[0] * BM + begin;
  auto behind = min((g[0] + 1) * BM, o.extent(0)) + begin;
  auto from = load(first, row);
  auto to = load(last, behind - 1);
  tile low = expand_dims(load(first, shape<BM>, elem(row)), axis<1>);
  tile high = expand_dims(load(last, shape<BM>, elem(row)), axis<1>);
  tile query = load(qkv, shape<BM, head>, g[0], g[1]);
  auto all = loop(
      ceil_div(to - from, BN), samples::no_keys<BM, head>(),
      [&](auto j, samples::Softmax<BM, head> before) {
        auto at = from + cast<int>(j) * BN;
        tile key = iota<int>(shape<1, BN>, axis<1>) + at;
        tile keys = load(qkv, shape<BN, head>, elem(at), elem((heads + g[1]) * head));
        tile scores = dot(query, trans(keys)) * score_scale;
        tile seen = (key >= low) & (key < high);
        tile values = load(qkv, shape<BN, head>, elem(at), elem((heads * 2 + g[1]) * head));
        return samples::add_keys(before, tile(select(seen, scores, -inf)), values);
      },
      stages<2>);
  store(o, shape<BM, head>, samples::means<T>(all), g[0], g[1]);
});

/// Computes the embeddings of the batch's `count` sentences, from number `begin` on. `starts` and `ends` bound the rows
/// of each sentence within its batch.
template <class T, int Width>
inline constexpr auto pool = kernel("pool", [](Rows<T, Width, in> x, in<int, 1> starts, in<int, 1> ends,
                                               Rows<float, Width, out> y, arg<int> begin, arg<int> count) {
  auto g = grid(count);
  auto sentence = g[0] + begin;
  auto from = load(starts, sentence);
  auto to = load(ends, sentence);
  auto rows = slice(x, axis<0>, from, to);
  tile sums = loop(ceil_div(to - from, 16), zeros<float>(shape<1, Width>), [&](auto i, auto before) {
    return before + sum(cast<float>(load(rows, shape<16, Width>, i, 0)), axis<0>);
  });
  tile mean = sums / cast<float>(to - from);
  store(y, shape<1, Width>, mean * rsqrt(max(sum(mean * mean, axis<1>), 1e-24F)), sentence, 0);
});

}  // namespace minilm
