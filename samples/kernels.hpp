// Defines the kernels of the samples, shared with the tests. A program that launches them includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

inline constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<1024>);  // the grid and this block's indices, from one place
  store(c, shape<1024>, load(a, shape<1024>, g[0]) + load(b, shape<1024>, g[0]), g[0]);
});

template <int BN>
inline constexpr auto softmax = kernel("softmax", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<1, BN>);
  require(y.extent(1) <= BN, "softmax: a row must fit one tile");
  tile v = load(x, shape<1, BN>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));  // reductions keep the axis with extent 1; squeeze(axis<1>) drops it
  store(y, shape<1, BN>, e / sum(e, axis<1>), g[0], 0);
});

template <int BM, int BN, int BK, class Epilogue>
constexpr auto gemm(Epilogue epilogue) {
  return kernel("gemm", [epilogue](in<bf16, 2> A, in<bf16, 2> B, in<float, 1> bias, out<bf16, 2> C) {
    require(A.extent(1) == B.extent(0), "gemm: A is M x K and B is K x N, but the two K differ");
    auto g = grid_over(C, shape<BM, BN>);
    tile acc = loop(
        ceil_div(A.extent(1), BK), zeros<float>(shape<BM, BN>),
        [&](auto k, auto sum) { return dot(load(A, shape<BM, BK>, g[0], k), load(B, shape<BK, BN>, k, g[1]), sum); },
        stages<4>);
    tile b = expand_dims(load(bias, shape<BN>, g[1]), axis<0>);
    store(C, shape<BM, BN>, cast<bf16>(epilogue(acc, b)), g[0], g[1]);
  });
}

template <int BM, int BN, int D>
inline constexpr auto attention = kernel("attention", [](in<bf16, 3> Q, in<bf16, 3> K, in<bf16, 3> V, out<bf16, 3> O,
                                                         arg<float> scale_log2e) {
  auto g = grid_over(O, shape<1, BM, D>);  // g[0]: batch and head, g[1]: block of queries
  tile q = load(Q, shape<BM, D>, g[0], g[1], 0);
  auto [m, l, o] = loop(
      ceil_div(K.extent(1), BN),
      carry(full(shape<BM, 1>, -inf), zeros<float>(shape<BM, 1>), zeros<float>(shape<BM, D>)),
      [&](auto j, auto m0, auto l0, auto o0) {
        tile s =
            mask_outside(dot(q, trans(load(K, shape<BN, D>, g[0], j, 0))) * scale_log2e, axis<1>, j, K.extent(1), -inf);
        tile m1 = max(m0, max(s, axis<1>));
        tile p = exp2(s - m1);
        tile a = exp2(m0 - m1);
        return carry(m1, l0 * a + sum(p, axis<1>), dot(cast<bf16>(p), load(V, shape<BN, D>, g[0], j, 0), o0 * a));
      },
      stages<2>);
  store(O, shape<BM, D>, cast<bf16>(o / l), g[0], g[1], 0);
});

inline constexpr auto bias_relu = [](auto acc, auto b) { return max(acc + b, 0); };

}  // namespace samples
