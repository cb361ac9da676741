// Defines products of few rows with weights of 4 bits. A program that launches these includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

namespace samples {

using namespace tegula;

/// Computes y = x * w^T, (M, N), for x (M, K) and weights w = (q - zero) * scale. q is u4, stored N x K: byte i of a
/// row holds the weights 2 i in its low bits and 2 i + 1. scales and zeros are (N, K / group), of the groups of `group`
/// weights along K.
template <int BM, int BN, int group>
inline constexpr auto four_bit_product = kernel("four_bit_product", [](in<bf16, 2> x, in<std::uint8_t, 2> q,
                                                                       in<bf16, 2> scales, in<bf16, 2> zeros,
                                                                       out<bf16, 2> y) {
  require(2 * q.extent(1) == x.extent(1), "four_bit_product: a byte holds two weights");
  require(q.extent(0) == y.extent(1), "four_bit_product: each column of y has a row of weights");
  require(scales.extent(1) * group == x.extent(1), "four_bit_product: each group of weights has its scale");
  auto g = grid_over(y, shape<BM, BN>);
  tile sums = loop(
      x.extent(1) / group, tegula::zeros<float>(shape<BM, BN>),
      [&](auto k, auto sum) {
        tile bits = cast<float>(unpack<u4>(load(q, shape<BN, group / 2>, g[1], k)));
        tile scale = cast<float>(load(scales, shape<BN, 1>, g[1], k));
        tile offset = cast<float>(load(zeros, shape<BN, 1>, g[1], k)) * scale;
        tile w = cast<bf16>(bits * scale - offset);
        return dot(load(x, shape<BM, group>, g[0], k), trans(w), sum);
      },
      stages<4>);
  store(y, shape<BM, BN>, cast<bf16>(sums), g[0], g[1]);
});

}  // namespace samples
