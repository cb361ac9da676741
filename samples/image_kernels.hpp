// Defines the kernels of the image sample, shared with the tests. A program that launches them includes
// <tegula/tegula.hpp>.
#pragma once

#include <tegula/dsl/dsl.hpp>

#include <array>
#include <cmath>
#include <cstdlib>

namespace samples {

using namespace tegula;

inline constexpr int search = 5;               // pixels on each side that are averaged
inline constexpr int patch = 2;                // pixels on each side of one that say what it looks like
inline constexpr int margin = search + patch;  // pixels that the denoiser reads beyond the picture

/// Averages each pixel with those around it whose patches look alike (non-local means): flat parts lose their noise,
/// edges stay. A pixel's weight is exp(min(noise - distance, 0) * falloff), where the distance sums the squares of all
/// differences between the two patches. `x` has a margin on each side, so that no patch leaves it.
template <int channels, int BH, int BW>
inline constexpr auto denoise = kernel("denoise", [](in<float, 3> x, out<float, 3> y, arg<float> noise,
                                                     arg<float> falloff) {
  require(y.extent(0) == channels, "denoise: the kernel is made for another number of channels");
  require(x.extent(1) == y.extent(1) + 2 * margin, "denoise: the picture needs its margin");
  require(x.extent(2) == y.extent(2) + 2 * margin, "denoise: the picture needs its margin");
  constexpr auto tile_shape = shape<channels, BH, BW>;
  constexpr int side = 2 * search + 1;
  auto g = grid_over(y, tile_shape);
  auto pixels = [&](auto down, auto right) {  // this block's, moved
    return load(x, tile_shape, g[0], elem(g[1] * BH + margin + down), elem(g[2] * BW + margin + right));
  };
  auto [total, weights] =
      loop(side * side, carry(zeros<float>(tile_shape), zeros<float>(shape<1, BH, BW>)), [&](auto n, auto t, auto w) {
        auto down = n / side - search;
        auto right = n % side - search;
        tile squares = loop(range(-patch, patch + 1), zeros<float>(tile_shape), [&](auto i, auto before) {
          tile sums = before;
          for (int j = -patch; j <= patch; ++j) {
            tile d = pixels(i, j) - pixels(down + i, right + j);
            sums = sums + d * d;
          }
          return sums;
        });
        tile weight = exp(min(noise - sum(squares, axis<0>), 0) * falloff);
        return carry(t + pixels(down, right) * weight, w + weight);
      });
  store(y, tile_shape, total / weights, g[0], g[1], g[2]);
});

inline constexpr int radius = 4;
using Weights = std::array<float, radius + 1>;  // of distance 0 to radius

inline Weights gaussian(double sigma) {
  Weights weights{};
  for (int k = 0; k <= radius; ++k)
    weights[static_cast<std::size_t>(k)] = static_cast<float>(std::exp(-k * k / (2 * sigma * sigma)));
  return weights;
}

/// Blurs along one axis around this block's tile. The picture ends at the border: the weights inside are scaled to sum
/// to one. Offsets count elements, so that neighbours' tiles overlap; elements outside of the picture load as 0.
template <int axis_of, int BH, int BW, class Tensor, class Grid>
auto blurred(Tensor const& x, Grid const& g, Weights const& weights) {
  constexpr auto along = axis<axis_of>;
  constexpr auto line = shape < axis_of == 0 ? BH : 1, axis_of == 0 ? 1 : BW > ;
  auto row = g[1] * BH;
  auto column = g[2] * BW;
  auto first = axis_of == 0 ? row : column;
  auto extent = x.extent(axis_of + 1);
  tile sum = zeros<float>(shape<BH, BW>);
  tile norm = zeros<float>(line);
  tile place = iota(line, along) + first;
  for (int k = -radius; k <= radius; ++k) {
    float const weight = weights[static_cast<std::size_t>(std::abs(k))];
    auto y = axis_of == 0 ? row + k : row + 0;
    auto z = axis_of == 1 ? column + k : column + 0;
    sum = sum + load(x, shape<BH, BW>, g[0], elem(y), elem(z)) * weight;
    tile inside = (place + k >= 0) & (place + k < extent);
    norm = norm + select(inside, full(line, weight), zeros<float>(line));
  }
  return sum / norm;
}

template <int BH, int BW>
auto blur_rows(Weights weights) {
  return kernel("blur_rows", [weights](in<float, 3> x, out<float, 3> y) {
    auto g = grid_over(y, shape<1, BH, BW>);
    store(y, shape<BH, BW>, blurred<1, BH, BW>(x, g, weights), g[0], g[1], g[2]);
  });
}

/// Blurs along the second axis, and adds the amplified difference between picture and blur to the picture.
template <int BH, int BW>
auto sharpen(Weights weights) {
  return kernel("sharpen", [weights](in<float, 3> x, in<float, 3> rows, out<float, 3> y, arg<float> amount) {
    auto g = grid_over(y, shape<1, BH, BW>);
    tile sharp = load(x, shape<BH, BW>, g[0], g[1], g[2]);
    tile detail = sharp - blurred<0, BH, BW>(rows, g, weights);
    store(y, shape<BH, BW>, min(max(sharp + detail * amount, 0), 1), g[0], g[1], g[2]);
  });
}

}  // namespace samples
