// Defines the kernels of the host's benches that several programs measure, and tensors of numbers for them.
#pragma once

#include <cstdint>
#include <type_traits>

#include "../../samples/support/compare.hpp"
#include "../../samples/support/report.hpp"
#include "tegula/tegula.hpp"

namespace tegula::bench {

inline constexpr auto vadd = kernel("vadd", [](in<float, 1> a, in<float, 1> b, out<float, 1> c) {
  auto g = grid_over(c, shape<1024>);
  store(c, shape<1024>, load(a, shape<1024>, g[0]) + load(b, shape<1024>, g[0]), g[0]);
});

/// Returns a kernel on rows of up to W elements, each of which one block changes.
template <int W, class Row>
constexpr auto rows(char const* name, Row row) {
  return kernel(name, [row](in<float, 2> x, out<float, 2> y) {
    auto g = grid_over(y, shape<1, W>);
    require(y.extent(1) <= W, "a row must fit one tile");
    row(x, y, g);
  });
}

template <int W = 1024>
inline constexpr auto softmax = rows<W>("softmax", [](auto x, auto y, auto g) {
  tile v = load(x, shape<1, W>, g[0], 0, pad(-inf));
  tile e = exp(v - max(v, axis<1>));
  store(y, shape<1, W>, e / sum(e, axis<1>), g[0], 0);
});

template <int W = 1024>
inline constexpr auto layernorm = rows<W>("layernorm", [](auto x, auto y, auto g) {
  tile v = load(x, shape<1, W>, g[0], 0);
  tile n = full(shape<1, 1>, cast<float>(x.extent(1)));
  tile d = mask_outside(v - sum(v, axis<1>) / n, axis<1>, 0, x.extent(1), 0);
  store(y, shape<1, W>, d * rsqrt(sum(d * d, axis<1>) / n + 1e-5F), g[0], 0);
});

template <int W = 1024>
inline constexpr auto rmsnorm = rows<W>("rmsnorm", [](auto x, auto y, auto g) {
  tile v = load(x, shape<1, W>, g[0], 0);
  tile n = full(shape<1, 1>, cast<float>(x.extent(1)));
  store(y, shape<1, W>, v * rsqrt(sum(v * v, axis<1>) / n + 1e-5F), g[0], 0);
});

template <int W = 1024>
inline constexpr auto sums = kernel("sums", [](in<float, 2> x, out<float, 1> y) {
  auto g = grid_over(y, shape<1>);
  tile v = load(x, shape<1, W>, g[0], 0);
  require(x.extent(1) <= W, "a row must fit one tile");
  store(y, shape<1>, squeeze(sum(v, axis<1>), axis<1>), g[0]);
});

inline constexpr auto transpose = kernel("transpose", [](in<float, 2> x, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  store(y, shape<64, 64>, trans(load(x, shape<64, 64>, g[1], g[0])), g[0], g[1]);
});

template <class T, class Sum, int BN = 128>
inline constexpr auto product = kernel("product", [](in<T, 2> A, in<T, 2> B, out<Sum, 2> C) {
  require(A.extent(1) == B.extent(0), "product: A is M x K and B is K x N, but the two K differ");
  auto g = grid_over(C, shape<128, BN>);
  tile acc = loop(ceil_div(A.extent(1), 64), zeros<Sum>(shape<128, BN>), [&](auto k, auto sum) {
    return dot(load(A, shape<128, 64>, g[0], k), load(B, shape<64, BN>, k, g[1]), sum);
  });
  store(C, shape<128, BN>, acc, g[0], g[1]);
});

template <int D>
inline constexpr auto attention = kernel("attention", [](in<float, 2> Q, in<float, 2> K, in<float, 2> V,
                                                         out<float, 2> O, arg<float> scale_log2e) {
  auto g = grid_over(O, shape<128, D>);
  tile q = load(Q, shape<128, D>, g[0], 0);
  auto [m, l, o] = loop(ceil_div(K.extent(0), 128),
                        carry(full(shape<128, 1>, -inf), zeros<float>(shape<128, 1>), zeros<float>(shape<128, D>)),
                        [&](auto j, auto m0, auto l0, auto o0) {
                          tile s = dot(q, trans(load(K, shape<128, D>, j, 0))) * scale_log2e;
                          tile m1 = max(m0, max(s, axis<1>));
                          tile p = exp2(s - m1);
                          tile a = exp2(m0 - m1);
                          return carry(m1, l0 * a + sum(p, axis<1>), dot(p, load(V, shape<128, D>, j, 0), o0 * a));
                        });
  store(O, shape<128, D>, o / l, g[0], 0);
});

/// Returns a tensor of numbers from -1 to 1, integers for integer elements, or of `steps` numbers.
template <class T, int Rank, class... E>
buffer<T, Rank> filled(int seed, E... extents) {
  buffer<T, Rank> result(device::host(), extents...);
  for (std::int64_t i = 0; i < result.size(); ++i) {
    std::int64_t const number = (i * 7919 + seed) % 2003;
    if constexpr (std::is_integral_v<T>)
      result.data()[i] = static_cast<T>(number % 15 - 7);
    else if constexpr (sizeof(T) == 2)
      result.data()[i] = T(static_cast<float>(number % 129 - 64) / 64.0F);
    else
      result.data()[i] = static_cast<T>(number) / T(1001) - T(1);
  }
  return result;
}

/// Compares with the rival's results.
template <class T, class U, int Rank>
samples::Comparison compared(buffer<T, Rank>& ours, buffer<U, Rank>& rival, double bound) {
  samples::Comparison all(bound);
  for (std::int64_t i = 0; i < ours.size(); ++i) all.add(i, ours.data()[i], static_cast<double>(rival.data()[i]));
  return all;
}

}  // namespace tegula::bench
