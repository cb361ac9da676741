// Defines discrete Fourier transforms of rows, and sums over all pairs of bodies. A program that launches these
// includes <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

namespace samples {

using namespace tegula;

/// Holds a tile of complex numbers.
template <std::int64_t... extents>
struct Complex {
  tile<float, Shape<extents...>> re, im;

  /// Multiplies by numbers, or by tiles that broadcast.
  template <class C, class S>
  [[nodiscard]] Complex times(C const& cosine, S const& sine) const {
    return {tile(re * cosine - im * sine), tile(re * sine + im * cosine)};
  }
  [[nodiscard]] Complex operator+(Complex const& other) const { return {tile(re + other.re), tile(im + other.im)}; }
  [[nodiscard]] Complex operator-(Complex const& other) const { return {tile(re - other.re), tile(im - other.im)}; }
};

/// Transforms lists of as many tiles as a power of 2, element by element: tile k of the result is the sum over r of
/// list[r] * exp(-2 pi i k r / n).
template <class C>
std::vector<C> transform_list(std::vector<C> const& list) {
  std::size_t const n = list.size(), half = n / 2;
  if (n == 1) return list;
  std::vector<C> even, odd;
  for (std::size_t r = 0; r < n; ++r) (r % 2 == 0 ? even : odd).push_back(list[r]);
  even = transform_list(even);
  odd = transform_list(odd);
  std::vector<C> sums, differences;
  for (std::size_t k = 0; k < half; ++k) {
    double const angle = -2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    C const turned = k == 0 ? odd[k]
                     : 2 * k == half
                         ? C{odd[k].im, tile(-odd[k].re)}
                         : odd[k].times(static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle)));
    sums.push_back(even[k] + turned);
    differences.push_back(even[k] - turned);
  }
  sums.insert(sums.end(), differences.begin(), differences.end());
  return sums;
}

/// Places tiles (rows, m, 1, s) one after another along axis 2.
template <std::size_t first, std::size_t count, class List>
auto in_order(List const& list) {
  if constexpr (count == 1)
    return list[first];
  else
    return let(concatenate(in_order<first, count / 2>(list), in_order<first + count / 2, count / 2>(list), axis<2>));
}

/// Does a step of Stockham's transform: rows of `s` interleaved transforms of length n become those of length n /
/// radix.
template <int radix, int n, int s, int rows>
Complex<rows, n * s> transform_step(Complex<rows, n * s> const& x) {
  constexpr int m = n / radix;
  using Part = Complex<rows, m, s>;
  tile re = reshape(x.re, shape<rows, radix, m, s>), im = reshape(x.im, shape<rows, radix, m, s>);
  std::vector<Part> list;
  [&]<int... r>(std::integer_sequence<int, r...>) {
    (list.push_back({tile(reshape(slice(re, shape<rows, 1, m, s>, offset<0, r, 0, 0>), shape<rows, m, s>)),
                     tile(reshape(slice(im, shape<rows, 1, m, s>, offset<0, r, 0, 0>), shape<rows, m, s>))}),
     ...);
  }
  (std::make_integer_sequence<int, radix>());
  list = transform_list(list);
  std::vector<tile<float, Shape<rows, m, 1, s>>> res, ims;
  for (int r = 0; r < radix; ++r) {
    Part part = list[static_cast<std::size_t>(r)];
    if (m > 1 && r > 0) {
      tile angle = cast<float>(iota<int>(shape<1, m, 1>, axis<1>)) * static_cast<float>(-2 * std::numbers::pi * r / n);
      part = part.times(tile(cos(angle)), tile(sin(angle)));
    }
    res.push_back(tile(expand_dims(part.re, axis<2>)));
    ims.push_back(tile(expand_dims(part.im, axis<2>)));
  }
  return {tile(reshape(in_order<0, radix>(res), shape<rows, n * s>)),
          tile(reshape(in_order<0, radix>(ims), shape<rows, n * s>))};
}

/// Does the steps that are left: `radix` is that of the next one, n the length that is left.
template <int radix, int n, int s, int rows>
Complex<rows, n * s> transform_rows(Complex<rows, n * s> const& x) {
  if constexpr (n == 1)
    return x;
  else {
    constexpr int now = n < radix ? n : radix;
    return transform_rows<radix, n / now, s * now, rows>(transform_step<now, n, s, rows>(x));
  }
}

/// Computes the discrete Fourier transform of each row of n complex numbers, (row, place, part): parts 0 and 1 are real
/// and imaginary. A block takes `rows` rows, by steps of a radix of at most `radix`.
template <int n, int rows, int radix>
inline constexpr auto fourier = kernel("fourier", [](in<float, 3> x, out<float, 3> y) {
  require(x.extent(1) == n, "fourier: the kernel is made for another length");
  require(x.extent(2) == 2, "fourier: the last axis holds real and imaginary parts");
  auto g = grid(ceil_div(y.extent(0), rows));
  auto [re, im] = split(load(x, shape<rows, n, 2>, g[0], 0, 0));
  auto const all = transform_rows<radix, n, 1, rows>({tile(re), tile(im)});
  store(y, shape<rows, n, 2>, join(all.re, all.im), g[0], 0, 0);
});

/// Computes accelerations of bodies by the gravity of all: bodies (4, n) are x, y, z and mass, forces (3, n). Distances
/// have `softening` added to their squares.
template <int BI, int BJ>
inline constexpr auto gravity = kernel("gravity", [](in<float, 2> bodies, out<float, 2> forces, arg<float> softening) {
  require(bodies.extent(1) == forces.extent(1), "gravity: each body has a force");
  auto g = grid(ceil_div(bodies.extent(1), BI));
  auto own = [&](int k) { return tile(trans(load(bodies, shape<1, BI>, k, g[0]))); };
  tile x = own(0), y = own(1), z = own(2);
  tile none = zeros<float>(shape<BI, 1>);
  auto [fx, fy, fz] =
      loop(ceil_div(bodies.extent(1), BJ), carry(none, none, none), [&](auto j, auto ax, auto ay, auto az) {
        auto other = [&](int k) { return tile(load(bodies, shape<1, BJ>, k, j)); };
        tile dx = other(0) - x, dy = other(1) - y, dz = other(2) - z;
        tile r = rsqrt(dx * dx + dy * dy + dz * dz + softening);
        tile pull = other(3) * (r * r * r);
        return carry(ax + sum(dx * pull, axis<1>), ay + sum(dy * pull, axis<1>), az + sum(dz * pull, axis<1>));
      });
  store(forces, shape<1, BI>, trans(fx), 0, g[0]);
  store(forces, shape<1, BI>, trans(fy), 1, g[0]);
  store(forces, shape<1, BI>, trans(fz), 2, g[0]);
});

}  // namespace samples
