// Defines kernels of a program that embeds its own launches, and makes these launches.
#pragma once

#include <vector>

#include <tegula/runtime/graph.hpp>
#include <tegula/tegula.hpp>

namespace tegula::test {

/// Instances have one signature: they differ by their type alone.
template <int factor, class T>
inline constexpr auto scaled = kernel("scaled", [](in<T, 1> a, out<T, 1> y) {
  auto g = grid_over(y, shape<256>);
  store(y, shape<256>, load(a, shape<256>, g[0]) * static_cast<T>(factor), g[0]);
});

template <int bias>
inline constexpr auto biased = kernel("biased", [](in<float, 1> a, arg<float> more, out<float, 1> y) {
  auto g = grid_over(y, shape<64>);
  store(y, shape<64>, load(a, shape<64>, g[0]) + (more + static_cast<float>(bias)), g[0]);
});

inline auto const either = variants("either", variant("first", biased<1>), variant("second", biased<1000>));

/// Its blocks are few for a GPU in small launches: several CTAs share a tile there, and not in large ones.
inline constexpr auto multiplied = kernel("multiplied", [](in<bf16, 2> a, in<bf16, 2> b, out<float, 2> y) {
  auto g = grid_over(y, shape<64, 64>);
  tile sum = loop(
      ceil_div(a.extent(1), 64), zeros<float>(shape<64, 64>),
      [&](auto k, auto acc) { return dot(load(a, shape<64, 64>, g[0], k), load(b, shape<64, 64>, k, g[1]), acc); },
      stages<3>);
  store(y, shape<64, 64>, sum, g[0], g[1]);
});

/// Holds vectors of whole numbers on a device.
struct Vectors {
  explicit Vectors(device where, std::int64_t count)
      : a(where, count), b(where, count), c(where, count), d(where, count), e(where, count) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 97);
    a.copy_from(values);
  }
  buffer<float> a, b, c, d, e;
};

/// Makes all launches of the program.
inline void launch_all(stream const& order, Vectors& x) {
  launch(order, scaled<2, float>, x.a, x.b);
  launch(order, with({.warps = 2}), scaled<5, float>, x.a, x.c);
  prepared const both[] = {prepare(biased<3>, x.a, 0.5F, x.d), prepare(scaled<7, float>, x.d, x.e)};
  graph(order.where(), both)(order);
  launch(order, either, x.e, 0.0F, x.d);
}

/// Multiplies a square matrix of ones by one of twos.
inline buffer<float, 2> launch_product(stream const& order, std::int64_t size) {
  buffer<bf16, 2> a(order.where(), size, size), b(order.where(), size, size);
  buffer<float, 2> y(order.where(), size, size);
  a.fill(bf16(1.0F));
  b.fill(bf16(2.0F));
  launch(order, multiplied, a, b, y);
  order.synchronize();
  return y;
}

}  // namespace tegula::test
