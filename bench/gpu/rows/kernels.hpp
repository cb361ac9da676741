// Defines the kernels of the table on a GPU that the samples do not have, as a user writes them.
#pragma once

#include "../../../samples/kernels.hpp"
#include "tegula/tegula.hpp"

namespace tegula::bench {

/// Computes tanh-GELU as x / (1 + exp(-2u)).
inline constexpr auto bias_gelu = [](auto value, auto bias) {
  tile x = value + bias;
  tile u = 0.7978845608F * (x + 0.044715F * x * x * x);
  return x / (1.F + exp(-2.F * u));
};

/// Computes tanh-GELU by the instruction of tanh.
inline constexpr auto bias_fast_gelu = [](auto value, auto bias) {
  tile x = value + bias;
  tile u = x * (0.7978845608F + 0.0356774081F * (x * x));
  tile half = 0.5F * x;
  return half + half * fast_tanh(u);
};

/// Multiplies by B that is stored N x K, as tensor cores read all elements but those of 16 bits.
template <class T, class Sum, class Result, int BM, int BN, int BK, auto... precision>
inline constexpr auto product_by_columns = kernel("product_by_columns", [](in<T, 2> A, in<T, 2> B, out<Result, 2> C) {
  require(A.extent(1) == B.extent(1), "product: A is M x K and B is stored N x K, but the two K differ");
  auto g = grid_over(C, shape<BM, BN>);
  tile acc = loop(
      ceil_div(A.extent(1), BK), zeros<Sum>(shape<BM, BN>),
      [&](auto k, auto sum) {
        return dot(load(A, shape<BM, BK>, g[0], k), trans(load(B, shape<BN, BK>, g[1], k)), sum, precision...);
      },
      stages<4>);
  store(C, shape<BM, BN>, cast<Result>(acc), g[0], g[1]);
});

/// Lets each query see the keys up to its own. The rows with most keys come first.
template <int BM, int BN, int D>
inline constexpr auto causal_attention = kernel("causal_attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                       out<bf16, 3> O, arg<float> scale_log2e) {
  require(Q.extent(1) == K.extent(1), "causal_attention: there are as many keys as queries");
  auto g = grid_over(O, shape<1, BM, D>);
  auto block = ceil_div(O.extent(1), BM) - 1 - g[1];
  tile q = load(Q, shape<BM, D>, g[0], block, 0);
  tile query = iota(shape<BM, 1>, axis<0>) + block * BM;
  auto [m, l, o] = loop(
      ceil_div((block + 1) * BM, BN),  // later keys are hidden from all of these queries
      carry(full(shape<BM, 1>, -inf), zeros<float>(shape<BM, 1>), zeros<float>(shape<BM, D>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        tile key = iota(shape<1, BN>, axis<1>) + j * BN;
        tile scores = dot(q, trans(load(K, shape<BN, D>, g[0], j, 0))) * scale_log2e;
        tile s = select(key <= query, scores, -inf);
        tile m1 = max(m0, max(s, axis<1>));
        tile p = exp2(s - m1);
        tile a = exp2(m0 - m1);
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<BN, D>, g[0], j, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<BM, D>, cast<bf16>(o / l), g[0], block, 0);
});

/// Lets groups of query heads share a head of keys and values.
template <int BM, int BN, int D>
inline constexpr auto grouped_attention = kernel("grouped_attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V,
                                                                         out<bf16, 3> O, arg<float> scale_log2e,
                                                                         arg<int> group) {
  require(Q.extent(0) == K.extent(0) * group, "grouped_attention: a head of keys is for a group of heads of queries");
  auto g = grid_over(O, shape<1, BM, D>);
  auto shared = g[0] / group;  // the group's head of keys and values
  tile q = load(Q, shape<BM, D>, g[0], g[1], 0);
  auto [m, l, o] = loop(
      ceil_div(K.extent(1), BN),
      carry(full(shape<BM, 1>, -inf), zeros<float>(shape<BM, 1>), zeros<float>(shape<BM, D>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        tile s = mask_outside(dot(q, trans(load(K, shape<BN, D>, shared, j, 0))) * scale_log2e, axis<1>, j, K.extent(1),
                              -inf);
        tile m1 = max(m0, max(s, axis<1>));
        tile p = exp2(s - m1);
        tile a = exp2(m0 - m1);
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<BN, D>, shared, j, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<BM, D>, cast<bf16>(o / l), g[0], g[1], 0);
});

template <class T, int BN>
inline constexpr auto rmsnorm = kernel("rmsnorm", [](in<T, 2> x, in<T, 1> weight, out<T, 2> y, arg<float> epsilon) {
  require(x.extent(1) <= BN, "rmsnorm: a row must fit one tile");
  auto g = grid_over(y, shape<1, BN>);
  tile v = cast<float>(load(x, shape<1, BN>, g[0], 0));  // 0 outside of the row
  tile scale = rsqrt(sum(v * v, axis<1>) / cast<float>(x.extent(1)) + epsilon);
  tile w = expand_dims(cast<float>(load(weight, shape<BN>, 0)), axis<0>);
  store(y, shape<1, BN>, cast<T>(v * scale * w), g[0], 0);
});

template <int BN>
inline constexpr auto layernorm = kernel("layernorm", [](in<bf16, 2> x, in<bf16, 1> weight, in<bf16, 1> bias,
                                                         out<bf16, 2> y, arg<float> epsilon) {
  require(x.extent(1) <= BN, "layernorm: a row must fit one tile");
  auto g = grid_over(y, shape<1, BN>);
  auto count = cast<float>(x.extent(1));
  tile v = cast<float>(load(x, shape<1, BN>, g[0], 0));  // 0 outside of the row
  tile d = mask_outside(v - sum(v, axis<1>) / count, axis<1>, 0, x.extent(1), 0);
  tile scale = rsqrt(sum(d * d, axis<1>) / count + epsilon);
  tile w = expand_dims(cast<float>(load(weight, shape<BN>, 0)), axis<0>);
  tile b = expand_dims(cast<float>(load(bias, shape<BN>, 0)), axis<0>);
  store(y, shape<1, BN>, cast<bf16>(d * scale * w + b), g[0], 0);
});

template <class T, int block>
inline constexpr auto transpose = kernel("transpose", [](in<T, 2> x, out<T, 2> y) {
  auto g = grid_over(y, shape<block, block>);
  store(y, shape<block, block>, trans(load(x, shape<block, block>, g[1], g[0])), g[0], g[1]);
});

inline constexpr auto bias_gelu_rows = kernel("bias_gelu", [](in<bf16, 2> x, in<bf16, 1> bias, out<bf16, 2> y) {
  auto g = grid_over(y, shape<1, 2048>);
  tile v = cast<float>(load(x, shape<1, 2048>, g[0], g[1]));
  tile b = expand_dims(cast<float>(load(bias, shape<2048>, g[1])), axis<0>);
  store(y, shape<1, 2048>, cast<bf16>(bias_gelu(v, b)), g[0], g[1]);
});

template <int BN>
inline constexpr auto row_sums = kernel("row_sums", [](in<float, 2> x, out<float, 1> y) {
  require(x.extent(1) <= BN, "row_sums: a row must fit one tile");
  auto g = grid_over(y, shape<1>);
  store(y, shape<1>, squeeze(sum(load(x, shape<1, BN>, g[0], 0), axis<1>), axis<1>), g[0]);
});

}  // namespace tegula::bench
